from __future__ import annotations

import pytest

from common.errors import Forbidden
from playbook import curation, proposals, replay, undoing
from playbook.models import PlaybookChange, PlaybookDelta, PlaybookEntry


def newest():
    return PlaybookDelta.objects.order_by("-pk").first()


class TestUndo:
    def test_it_takes_back_an_addition(self, write, project, alice):
        entry = write()

        delta = undoing.undo(newest(), alice, reason="A mistake.")

        entry.refresh_from_db()
        change = PlaybookChange.objects.order_by("-revision").first()
        assert (delta.status, entry.status) == ("reverted", "deleted")
        assert (change.operation, change.action) == ("delete", "revert")
        assert change.reverts_id is not None
        assert replay.state_at(project) == replay.present(project)

    def test_it_takes_back_an_edit_byte_for_byte(self, write, project, alice):
        entry = write(tags=["a"])
        before = replay.present(project)[entry.pk]
        wanted = curation.change(
            entry,
            {"content": "Pass `path`.", "tags": ["b"], "pinned": True},
            alice,
            reason="",
            version=None,
        )
        undoing.undo(curation.edit(project, wanted, alice), alice)

        after = replay.present(project)[entry.pk]
        moved = {"version", "updated_at"}
        assert {k: v for k, v in after.items() if k not in moved} == {
            k: v for k, v in before.items() if k not in moved
        }

    def test_it_takes_back_a_deletion(self, write, project, alice):
        entry = write()
        wanted = curation.removal(entry, alice, reason="", version=None)

        undoing.undo(curation.edit(project, wanted, alice), alice)

        entry.refresh_from_db()
        assert entry.status == "active"

    def test_it_keeps_votes_that_came_later(
        self, write, project, alice, bob, learned, memory
    ):
        entry = write()
        first = learned(entry.content, memory_id=memory.pk)
        [delta] = proposals.propose(project, [first], bob)
        proposals.propose(project, [learned(entry.content)], bob)

        undoing.undo(delta, alice)

        entry = PlaybookEntry.objects.get(pk=entry.pk)
        assert (entry.helpful, entry.supporting_memory_ids) == (1, [])
        assert replay.state_at(project) == replay.present(project)

    def test_it_names_the_later_change_that_stands_in_the_way(
        self, write, project, alice
    ):
        entry = write()
        first = newest()
        wanted = curation.change(
            entry, {"content": "Pass `path`."}, alice, reason="", version=None
        )
        curation.edit(project, wanted, alice)

        with pytest.raises(undoing.Overlap, match=rf"{entry.label} \(content\)"):
            undoing.undo(first, alice)

    def test_it_refuses_what_is_not_in_force(self, write, alice):
        write()
        undoing.undo(newest(), alice)

        with pytest.raises(undoing.NotApplied):
            undoing.undo(newest(), alice)

    def test_it_needs_a_curator(self, write, bob):
        write()

        with pytest.raises(Forbidden):
            undoing.undo(newest(), bob)
