"""kill -9 of web and worker, Redis flushed, frozen and killed, during a replay.

FAULT_KILLS and FAULT_SEED choose how often and which; see `kill_replay.py`.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.faults import kill_replay

pytestmark = [
    pytest.mark.slow,
    pytest.mark.xdist_group("up"),
    pytest.mark.timeout(1_800),
    pytest.mark.skipif(not Path("/proc/self").exists(), reason="reads /proc"),
]
KILLS = int(os.environ.get("FAULT_KILLS", "5"))
TASKS = max(40, KILLS * 8)
SEED = int(os.environ.get("FAULT_SEED", "1"))


@pytest.fixture(scope="module")
def service():
    with kill_replay.Service() as found:
        yield found


def test_no_answered_task_is_lost_and_a_second_replay_changes_nothing(service):
    report = kill_replay.torment(
        service, kills=KILLS, count=TASKS, seed=SEED, patience=15.0
    )

    assert not report.faults, "\n".join([*report.harms, *report.faults])
    assert len(report.harms) == KILLS + 3
    assert f"accepted              {TASKS} of {TASKS}" in report.summary
