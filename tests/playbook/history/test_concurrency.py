from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import Barrier

import pytest
from django.db import connection

from common.errors import Refusal
from playbook.history import replay
from playbook.lessons import person_edits
from playbook.models import Playbook, PlaybookChange, PlaybookDelta, PlaybookEntry
from playbook.review import decide, revert
from tests.playbook.conftest import propose
from tests.playbook.history.random_history import (
    BUDGET,
    DECISIONS,
    PERSON,
    REVERTS,
    History,
)

pytestmark = pytest.mark.django_db(transaction=True)


def together(*acts):
    """Run functions at the same moment in threads; their answers or refusals."""
    start = Barrier(len(acts))

    def run(act):
        start.wait()
        try:
            return act()
        except Refusal as refusal:
            return refusal
        finally:
            connection.close()

    with ThreadPoolExecutor(len(acts)) as pool:
        return list(pool.map(run, acts))


class TestTwoCurators:
    def test_exactly_one_of_them_accepts_a_delta(self, project, alice, bob, learned):
        [delta] = propose(project, [learned(feedback_source="agent")], bob)

        answers = together(*[lambda: decide.accept(delta, alice)] * 4)

        refused = [a.code for a in answers if isinstance(a, Refusal)]
        assert refused == ["delta_state"] * 3
        assert PlaybookEntry.objects.count() == PlaybookChange.objects.count() == 1

    def test_exactly_one_change_of_a_version_wins(self, project, alice, write):
        entry = write()

        def edit(text):
            wanted = person_edits.change(
                entry, {"content": text}, alice, reason="", version=1
            )
            return lambda: person_edits.submit_edit(project, wanted, alice)

        answers = together(edit("Pass `path`."), edit("Pass `src`."))

        assert [a.code for a in answers if isinstance(a, Refusal)] == ["stale_version"]
        assert PlaybookEntry.objects.light().get().version == 2


class TestTwoRuns:
    def test_one_lesson_learned_by_many_is_one_entry_with_votes(
        self, project, bob, learned
    ):
        lessons = [learned() for _ in range(4)]

        answers = together(
            *[lambda one=one: propose(project, [one], bob) for one in lessons]
        )

        entry = PlaybookEntry.objects.light().get()
        assert sorted(delta.operation for [delta] in answers) == ["add"] + ["vote"] * 3
        assert entry.helpful == 3
        assert Playbook.objects.get().revision == 4

    def test_a_rejected_lesson_counts_every_run(self, project, bob, alice, learned):
        [first] = propose(project, [learned(feedback_source="agent")], bob)
        decide.reject(first, alice, reason="No.")
        lessons = [learned() for _ in range(4)]

        answers = together(
            *[lambda one=one: propose(project, [one], bob) for one in lessons]
        )

        first.refresh_from_db()
        assert {delta.status for [delta] in answers} == {"rejected"}
        assert first.seen_again == 4

    def test_together_they_remove_no_more_than_one_may(
        self, project, bob, learned, write, set_options
    ):
        set_options(policy="auto")
        made = [write(f"Keep the part `p{n}`.", author_kind="rule") for n in range(30)]
        removals = [
            learned(None, operation="deprecate", entry=entry, evidence=())
            for entry in made[:4]
        ]

        together(*[lambda one=one: propose(project, [one], bob) for one in removals])

        assert PlaybookEntry.objects.current().count() == 29

    def test_labels_and_tokens_stay_exact(self, project, alice):
        def add(n):
            changes = {"content": f"Run `step_{n}` first.", "category": "gotchas"}
            wanted = person_edits.addition(changes, alice, reason="")
            return lambda: person_edits.submit_edit(project, wanted, alice)

        together(*[add(n) for n in range(6)])

        entries = PlaybookEntry.objects.light()
        labels = sorted(entry.label for entry in entries)
        assert labels == [f"gotchas-{n:05d}" for n in range(1, 7)]
        assert Playbook.objects.get().tokens == sum(e.tokens for e in entries)
        assert replay.snapshot_at(project) == replay.current_snapshot(project)


class TestTwoCuratorsOverATime:
    """Each takes its own random steps; together they leave one history that holds."""

    @pytest.mark.parametrize("seed", range(3))
    def test_whatever_they_do_can_be_replayed(
        self, project, alice, bob, memory, learned, set_options, seed
    ):
        set_options(policy="auto", budgets={"playbook_tokens": BUDGET})
        history = History(project, alice, bob, memory, learned)
        kinds = (("person", PERSON), ("decide", DECISIONS), ("revert", REVERTS))

        def work(steps):
            for _ in range(12):
                kind, names = steps.choice(kinds)
                numbers = steps.randrange(6), steps.randrange(6)
                history.take((kind, steps.choice(names), *numbers))

        history.begin()
        together(*[partial(work, random.Random(seed * 2 + n)) for n in (0, 1)])

        history.check()

    def test_exactly_one_undoes_a_delta(self, project, alice, write):
        write()
        delta = PlaybookDelta.objects.get()

        def undo():
            return revert.undo_delta(PlaybookDelta.objects.get(pk=delta.pk), alice)

        answers = together(undo, undo, undo)

        refused = [a.code for a in answers if isinstance(a, Refusal)]
        assert len(refused) == 2
        assert set(refused) <= {"not_applied", "nothing_to_revert"}
        assert PlaybookChange.objects.filter(action="revert").count() == 1
