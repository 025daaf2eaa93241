"""Random histories: the invariants of a playbook hold after every step.

PLAYBOOK_EXAMPLES sets how many histories are drawn; the default suits every run of
the tests.
"""

from __future__ import annotations

import os

import pytest
from django.db import transaction
from hypothesis import HealthCheck, event, example, given, settings
from hypothesis import strategies as st

from playbook.history import replay
from tests.playbook.history.random_history import (
    BUDGET,
    DECISIONS,
    LEARNED,
    PERSON,
    REVERTS,
    History,
    as_bytes,
)

EXAMPLES = int(os.environ.get("PLAYBOOK_EXAMPLES", "12"))
pytestmark = [pytest.mark.django_db, pytest.mark.timeout(60 + 3 * EXAMPLES)]
SMALL = st.integers(0, 5)
STEP = st.one_of(
    st.tuples(st.just("person"), st.sampled_from(PERSON), SMALL, SMALL),
    st.tuples(st.just("learn"), st.sampled_from(LEARNED), SMALL, SMALL),
    st.tuples(st.just("decide"), st.sampled_from(DECISIONS), SMALL, SMALL),
    st.tuples(st.just("revert"), st.sampled_from(REVERTS), SMALL, SMALL),
    st.tuples(st.just("again"), st.just(""), SMALL, SMALL),
    st.tuples(st.just("use"), st.just(""), SMALL, SMALL),
)

# A conflict was open again whose proposal had gone, when a part of it came and went.
IN_PART = [
    ("person", "update", 0, 0),
    ("person", "add", 5, 0),
    ("again", "", 0, 3),
    ("again", "", 0, 0),
    *[("person", "restore", 0, 0)] * 2,
    ("person", "add", 0, 5),
    ("decide", "accept", 0, 0),
    ("again", "", 0, 3),
    ("person", "add", 0, 1),
    ("use", "", 5, 3),
    ("decide", "undo", 4, 2),
    ("decide", "take_up", 1, 1),
    ("learn", "update", 1, 1),
    ("use", "", 3, 1),
    ("person", "update", 1, 1),
    ("person", "add", 3, 0),
    ("again", "", 0, 4),
]


@pytest.fixture
def history(project, alice, bob, memory, learned, set_options):
    set_options(policy="auto", budgets={"playbook_tokens": BUDGET})
    return History(project, alice, bob, memory, learned)


class TestAnyHistory:
    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        suppress_health_check=[HealthCheck.function_scoped_fixture],
    )
    @example(steps=IN_PART)
    @given(steps=st.lists(STEP, min_size=8, max_size=30))
    def test_it_can_be_replayed_and_nothing_is_lost(self, history, steps):
        with transaction.atomic():
            history.seen_labels = {}
            at_revisions = {}
            history.begin()
            for step in steps:
                event(history.take(step))
                history.check()
                present = as_bytes(replay.current_snapshot(history.project))
                at_revisions[history.playbook().revision] = present

            for number, present in at_revisions.items():
                past = replay.snapshot_at(history.project, number)
                assert as_bytes(past) == present
            transaction.set_rollback(True)
