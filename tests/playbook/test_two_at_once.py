from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from django.db import connection

from common.errors import Refusal
from playbook import curation, proposals, replay
from playbook.models import Playbook, PlaybookChange, PlaybookEntry

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
        [delta] = proposals.propose(project, [learned(feedback_source="agent")], bob)

        answers = together(*[lambda: curation.accept(delta, alice)] * 4)

        refused = [a.code for a in answers if isinstance(a, Refusal)]
        assert refused == ["delta_state"] * 3
        assert PlaybookEntry.objects.count() == PlaybookChange.objects.count() == 1

    def test_exactly_one_change_of_a_version_wins(self, project, alice, write):
        entry = write()

        def edit(text):
            wanted = curation.change(
                entry, {"content": text}, alice, reason="", version=1
            )
            return lambda: curation.edit(project, wanted, alice)

        answers = together(edit("Pass `path`."), edit("Pass `src`."))

        assert [a.code for a in answers if isinstance(a, Refusal)] == ["stale_version"]
        assert PlaybookEntry.objects.light().get().version == 2


class TestTwoRuns:
    def test_one_lesson_learned_by_many_is_one_entry_with_votes(
        self, project, bob, learned
    ):
        lessons = [learned() for _ in range(4)]

        answers = together(
            *[lambda one=one: proposals.propose(project, [one], bob) for one in lessons]
        )

        entry = PlaybookEntry.objects.light().get()
        assert sorted(delta.operation for [delta] in answers) == ["add"] + ["vote"] * 3
        assert entry.helpful == 3
        assert Playbook.objects.get().revision == 4

    def test_labels_and_tokens_stay_exact(self, project, alice):
        def add(n):
            changes = {"content": f"Run `step_{n}` first.", "category": "gotchas"}
            wanted = curation.addition(changes, alice, reason="")
            return lambda: curation.edit(project, wanted, alice)

        together(*[add(n) for n in range(6)])

        entries = PlaybookEntry.objects.light()
        labels = sorted(entry.label for entry in entries)
        assert labels == [f"gotchas-{n:05d}" for n in range(1, 7)]
        assert Playbook.objects.get().tokens == sum(e.tokens for e in entries)
        assert replay.state_at(project) == replay.present(project)
