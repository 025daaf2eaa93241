"""A worker is killed with -9 while it compacts: each step whole, or not."""

from __future__ import annotations

import os
import signal
from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone

from jobs import runner
from jobs.models import Job
from memories.lifecycle import delete, derive
from memories.models import Memory, MemoryChange
from memories.retention import compaction_policy
from memories.scopes import Scope
from tests.memories.conftest import lines
from tests.memories.conftest import options as options
from tests.memories.conftest import stored as stored

pytestmark = [
    pytest.mark.slow,
    pytest.mark.django_db(transaction=True),
    # The child only runs one job, on a connection of its own, and is killed.
    pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning"),
]
POLICY = {"older_than_days": 7, "at_least": 3, "at_most": 3}


def die_at(monkeypatch, module, name, calls):
    """Kill the process at the n-th call of a function, before it does anything."""
    real, seen = getattr(module, name), []

    def fatal(*args, **kwargs):
        seen.append(name)
        if len(seen) == calls:
            os.kill(os.getpid(), signal.SIGKILL)
        return real(*args, **kwargs)

    monkeypatch.setattr(module, name, fatal)


def run_and_kill(job):
    """Run a job in a process of its own, which is killed in the middle of it."""
    child = os.fork()
    if child == 0:
        # Kept, not closed: the parent goes on with the connection.
        kept, connection.connection = connection.connection, None
        try:
            runner.run(job.pk)
        finally:
            os._exit(0 if kept else 1)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status)
    assert os.WTERMSIG(status) == signal.SIGKILL
    Job.objects.filter(pk=job.pk).update(
        lease_until=timezone.now() - timedelta(seconds=1)
    )


def finish_job(job):
    runner.run(job.pk)
    job.refresh_from_db()
    assert job.state == "done", job.error
    return job.result


def current():
    return Memory.objects.current()


class TestACompaction:
    @pytest.mark.parametrize(
        ("module", "name", "calls"),
        [
            # Of the second group: before its result is written, before its second
            # source goes, and when all is written but not committed.
            (derive, "_insert_derived", 2),
            (delete, "soft_delete", 5),
            (runner.JobRun, "step", 2),
        ],
    )
    def test_each_group_is_whole_and_the_next_run_does_the_rest(
        self, project, alice, options, stored, monkeypatch, module, name, calls
    ):
        options(compaction=POLICY)
        scopes = [Scope("session", f"s{n}") for n in range(3)]
        for n, scope in enumerate(scopes):
            stored(*lines(3, start=10 * n), days=8, scope=scope)
        job = compaction_policy.start(project, alice)

        with monkeypatch.context() as patch:
            die_at(patch, module, name, calls)
            run_and_kill(job)

        sizes = sorted(current().filter(scope_hash=s.hash).count() for s in scopes)
        assert sizes == [1, 3, 3]

        assert finish_job(job)["groups"] == 3
        assert current().count() == 3
        made = MemoryChange.objects.filter(action="compact")
        assert made.count() == 3
