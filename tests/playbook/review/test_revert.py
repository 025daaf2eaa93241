from __future__ import annotations

import uuid

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from audit.models import AuditEvent
from common.caller import Caller, Role
from common.errors import Forbidden, NotFound
from memories.models import Memory, MemoryVector
from playbook.history import replay, votes
from playbook.history.revision import Cause, DuplicateEntry, OverBudget
from playbook.history.undo_changes import Overlap
from playbook.lessons import person_edits
from playbook.models import (
    Playbook,
    PlaybookChange,
    PlaybookDelta,
    PlaybookEntry,
)
from playbook.reading import entry_list, past_revisions
from playbook.review import available, decide, revert
from tests.playbook.conftest import RULE, propose


def newest():
    return PlaybookDelta.objects.order_by("-pk").first()


class TestUndo:
    def test_it_reverts_an_addition(self, write, project, alice):
        entry = write()

        delta = revert.undo_delta(newest(), alice, reason="A mistake.")

        entry.refresh_from_db()
        change = PlaybookChange.objects.order_by("-revision").first()
        assert (delta.status, entry.status) == ("reverted", "deleted")
        assert (change.operation, change.action) == ("delete", "revert")
        assert change.reverts_id is not None
        assert replay.snapshot_at(project) == replay.current_snapshot(project)

    def test_it_reverts_an_edit_byte_for_byte(self, write, project, alice):
        entry = write(tags=["a"])
        before = replay.current_snapshot(project)[entry.pk]
        wanted = person_edits.change(
            entry,
            {"content": "Pass `path`.", "tags": ["b"], "pinned": True},
            alice,
            reason="",
            version=None,
        )
        revert.undo_delta(person_edits.submit_edit(project, wanted, alice), alice)

        after = replay.current_snapshot(project)[entry.pk]
        moved = {"version", "updated_at"}
        assert {k: v for k, v in after.items() if k not in moved} == {
            k: v for k, v in before.items() if k not in moved
        }

    def test_it_reverts_a_deletion(self, write, project, alice):
        entry = write()
        wanted = person_edits.removal(entry, alice, reason="", version=None)

        revert.undo_delta(person_edits.submit_edit(project, wanted, alice), alice)

        entry.refresh_from_db()
        assert entry.status == "active"

    def test_it_keeps_votes_that_came_later(
        self, write, project, alice, bob, learned, memory
    ):
        entry = write()
        first = learned(entry.content, memory_id=memory.pk)
        [delta] = propose(project, [first], bob)
        propose(project, [learned(entry.content)], bob)

        revert.undo_delta(delta, alice)

        entry = PlaybookEntry.objects.get(pk=entry.pk)
        assert (entry.helpful, entry.supporting_memory_ids) == (1, [])
        assert replay.snapshot_at(project) == replay.current_snapshot(project)

    def test_it_names_the_later_change_that_prevents_it(self, write, project, alice):
        entry = write()
        first = newest()
        wanted = person_edits.change(
            entry, {"content": "Pass `path`."}, alice, reason="", version=None
        )
        person_edits.submit_edit(project, wanted, alice)

        with pytest.raises(Overlap, match=rf"{entry.label} \(content; ") as no:
            revert.undo_delta(first, alice)

        change = PlaybookChange.objects.order_by("-revision").first()
        [told] = no.value.extra["overlaps"]
        assert (told["entry_id"], told["columns"]) == (str(entry.pk), ["content"])
        assert (told["change_id"], told["revision"]) == (str(change.pk), 2)

    def test_it_refuses_what_is_not_in_force(self, write, alice):
        write()
        revert.undo_delta(newest(), alice)

        with pytest.raises(available.NotInForce):
            revert.undo_delta(newest(), alice)

    def test_it_needs_a_curator(self, write, bob):
        write()

        with pytest.raises(Forbidden):
            revert.undo_delta(newest(), bob)


@pytest.fixture
def edit(project, alice):
    def make(entry, **changes):
        wanted = person_edits.change(entry, changes, alice, reason="", version=None)
        return person_edits.submit_edit(project, wanted, alice)

    return make


@pytest.fixture
def revert_target(project, alice):
    """Revert what a target function and its arguments name."""

    def make(find, *named):
        target = find(project, *named, alice)
        return revert.revert_changes(project, target, alice, reason="A mistake.")

    return make


def plain(project):
    """The state without what every change moves."""
    return {
        pk: {n: v for n, v in state.items() if n not in ("version", "updated_at")}
        for pk, state in replay.current_snapshot(project).items()
    }


def last_revision(project):
    return Playbook.objects.get(project=project).revision


class TestRange:
    def test_it_reverts_everything_after_a_revision(
        self, write, edit, revert_target, project
    ):
        first = write(tags=["a"])
        edit(first, content="Pass `path`.", tags=["b"])
        second = write("Run `make lint` before you push.")
        edit(second, pinned=True)

        done = revert_target(revert.range_target, 1, None)

        first.refresh_from_db()
        second.refresh_from_db()
        assert (first.content, first.tags) == (RULE, ["a"])
        assert second.status == "deleted"
        assert (done.revision, len(done.changes), len(done.deltas)) == (5, 3, 3)
        assert {delta.status for delta in done.deltas} == {"reverted"}
        assert replay.snapshot_at(project) == replay.current_snapshot(project)

    def test_it_reverts_the_middle_and_keeps_later_changes(
        self, write, edit, revert_target
    ):
        entry = write()
        edit(entry, tags=["b"])
        edit(entry, priority=4)

        revert_target(revert.range_target, 1, 2)

        entry.refresh_from_db()
        assert (entry.tags, entry.priority) == ([], 4)

    def test_it_refuses_a_middle_that_later_changes_depend_on(
        self, write, edit, revert_target, project
    ):
        entry = write()
        edit(entry, tags=["b"])
        edit(entry, tags=["c"], pinned=True)
        before = replay.current_snapshot(project)

        with pytest.raises(Overlap) as refused:
            revert_target(revert.range_target, 1, 2)

        assert [o["columns"] for o in refused.value.extra["overlaps"]] == [["tags"]]
        assert replay.current_snapshot(project) == before

    def test_what_has_the_same_value_again_goes_back(self, write, edit, revert_target):
        entry = write()
        edit(entry, pinned=True)
        edit(entry, pinned=False)
        edit(entry, pinned=True)

        revert_target(revert.range_target, 1, 2)

        entry.refresh_from_db()
        assert not entry.pinned

    def test_a_change_and_its_undo_leave_a_later_redo_alone(
        self, write, edit, revert_target, project
    ):
        entry = write()
        edit(entry, pinned=True)
        for number in (2, 3):
            revert_target(revert.range_target, number - 1, number)
        entry.refresh_from_db()
        assert entry.pinned

        with pytest.raises(revert.NothingToRevert):
            revert_target(revert.range_target, 1, 3)

        entry.refresh_from_db()
        assert entry.pinned

    def test_a_redo_that_was_undone_at_its_root_is_undone_once(
        self, write, revert_target, project, bob
    ):
        entry = write()
        votes.record(project, [votes.Vote(entry.pk, "helpful")], [], Cause(), bob)
        for number in (2, 3, 2):  # undo, redo, undo of the vote itself
            revert_target(revert.range_target, number - 1, number)

        with pytest.raises(revert.NothingToRevert):
            revert_target(revert.range_target, 3, 4)

        entry.refresh_from_db()
        assert entry.helpful == 0

    def test_a_reverted_change_does_not_prevent_it(self, write, edit, revert_target):
        entry = write()
        first = edit(entry, tags=["b"])
        second = edit(entry, tags=["c"])
        revert.undo_delta(second, Caller("alice", everywhere=Role.OWNER))

        revert_target(revert.delta_target, first.pk)

        entry.refresh_from_db()
        assert entry.tags == []

    def test_texts_may_change_places(self, write, edit, revert_target, project):
        first, second = write("Run `make a` first."), write("Run `make b` first.")
        before = plain(project)
        edit(first, content="Run `make c` first.")
        edit(second, content="Run `make a` first.")
        edit(first, content="Run `make b` first.")

        revert_target(revert.range_target, 2, None)

        assert plain(project) == before

    def test_it_refuses_a_text_that_another_entry_has_by_now(
        self, write, edit, revert_target
    ):
        entry = write("Run `make a` first.")
        delta = edit(entry, content="Run `make b` first.")
        write("Run `make a` first.")

        with pytest.raises(DuplicateEntry, match="gotchas-00002"):
            revert_target(revert.delta_target, delta.pk)

    def test_it_keeps_to_the_budget(self, write, edit, revert_target, set_options):
        delta = edit(write("Run `make a` first" + " and wait" * 80), content="Do `it`.")
        set_options(budgets={"playbook_tokens": 100})

        with pytest.raises(OverBudget):
            revert_target(revert.delta_target, delta.pk)

    def test_a_restored_text_is_searched_and_embedded_again(
        self, write, edit, revert_target, project, alice, run_jobs
    ):
        entry = write("Run `make zebra` first.")
        delta = edit(entry, content="Run `make lion` first.")
        run_jobs()

        revert_target(revert.delta_target, delta.pk)
        run_jobs()

        rows = entry_list.find(project, entry_list.EntryFilters(), alice)
        [hit] = entry_list.rank(project, rows, "zebra").hits
        assert hit.id == entry.pk
        assert entry.vectors.count() == 1

    def test_it_takes_as_many_queries_for_many_as_for_few(
        self, project, alice, write, edit, django_assert_max_num_queries
    ):
        for n in range(12):
            edit(write(f"Run `step_{n}` before the others."), tags=[f"t{n}"])
        target = revert.range_target(project, 0, None, alice)

        with django_assert_max_num_queries(28):
            done = revert.revert_changes(project, target, alice)

        assert (len(done.changes), len(done.entries)) == (24, 12)
        assert Playbook.objects.get().tokens == 0

    def test_it_refuses_too_many_before_it_has_loaded_them(
        self, write, revert_target, monkeypatch
    ):
        monkeypatch.setattr(revert, "MAX_CHANGES", 2)
        for n in range(3):
            write(f"Run `step_{n}` before the others.")

        with (
            CaptureQueriesContext(connection) as asked,
            pytest.raises(revert.TooManyChanges, match="these are 3"),
        ):
            revert_target(revert.range_target, 0, None)

        assert not any('"before"' in query["sql"] for query in asked)

    def test_reverted_changes_do_not_count_for_the_limit(
        self, write, revert_target, monkeypatch
    ):
        monkeypatch.setattr(revert, "MAX_CHANGES", 2)
        for n in range(4):
            write(f"Run `step_{n}` before the others.")
        revert_target(revert.range_target, 2, None)

        revert_target(revert.range_target, 0, None)

        assert not PlaybookEntry.objects.current().exists()

    def test_it_refuses_a_future_revision_and_an_empty_range(
        self, write, revert_target
    ):
        write()

        with pytest.raises(past_revisions.UnknownRevision):
            revert_target(revert.range_target, 7, None)
        with pytest.raises(revert.NothingToRevert):
            revert_target(revert.range_target, 1, None)


class TestRun:
    def test_it_reverts_deltas_votes_and_supports_of_a_run(
        self, project, bob, write, memory, learned, revert_target
    ):
        entry = write("Run `make lint` before you push.")
        before = plain(project)
        proposal = learned(memory_id=memory.pk)
        [delta] = propose(project, [proposal], bob)
        cause = Cause(run_id=proposal.run_id, memory_id=memory.pk)
        vote = votes.Vote(entry.pk, "helpful")
        votes.record(project, [vote], [entry.pk], cause, bob)
        votes.record(
            entry.project,
            [votes.Vote(entry.pk, "harmful")],
            [],
            Cause(run_id=uuid.uuid4()),
            bob,
        )

        done = revert_target(revert.run_target, proposal.run_id)

        after = plain(project)
        delta.refresh_from_db()
        assert after[entry.pk] == before[entry.pk] | {"harmful": 1}
        assert after[delta.entry_id]["status"] == "deleted"
        assert [delta.status for delta in done.deltas] == ["reverted"]

    def test_it_has_nothing_to_revert_twice(self, project, bob, learned, revert_target):
        proposal = learned()
        propose(project, [proposal], bob)
        revert_target(revert.run_target, proposal.run_id)

        with pytest.raises(revert.NothingToRevert):
            revert_target(revert.run_target, proposal.run_id)


class TestRevertOfARevert:
    @pytest.mark.parametrize("way", ["change", "delta", "range"])
    def test_it_restores_the_former_playbook(
        self, way, write, edit, revert_target, project
    ):
        delta = edit(write(), content="Pass `path`.", tags=["b"])
        before = plain(project)
        done = revert_target(revert.delta_target, delta.pk)
        number = done.revision
        named = {
            "change": (revert.change_target, done.changes[0].pk),
            "delta": (revert.delta_target, delta.pk),
            "range": (revert.range_target, number - 1, number),
        }[way]

        revert_target(*named)

        delta.refresh_from_db()
        assert plain(project) == before
        assert (delta.status, delta.reviewer) == ("applied", "")
        assert replay.snapshot_at(project) == replay.current_snapshot(project)

    def test_it_restores_an_accepted_delta_with_its_reviewer(
        self, project, alice, bob, learned, revert_target
    ):
        proposal = learned(feedback_source="agent")
        [delta] = propose(project, [proposal], bob)
        delta = decide.accept(delta, alice, note="Good.")
        revert_target(revert.delta_target, delta.pk)

        revert_target(revert.delta_target, delta.pk)

        again = PlaybookDelta.objects.get(pk=delta.pk)
        assert (again.status, again.review_note) == ("accepted", "Good.")
        assert (again.reviewed_at, again.payload) == (delta.reviewed_at, delta.payload)

    def test_it_can_be_reverted_any_number_of_times(
        self, write, edit, revert_target, project
    ):
        delta = edit(write(), tags=["b"])

        for _ in range(3):
            done = revert_target(revert.delta_target, delta.pk)
        back = revert_target(revert.change_target, done.changes[0].pk)

        delta.refresh_from_db()
        assert delta.status == "applied"
        assert back.changes[0].after["tags"] == ["b"]

    def test_a_range_with_both_has_nothing_to_take_back(
        self, write, edit, revert_target, project
    ):
        delta = edit(write(), tags=["b"])
        revert_target(revert.delta_target, delta.pk)

        with pytest.raises(revert.NothingToRevert):
            revert_target(revert.range_target, 1, None)


class TestPartOfADelta:
    @pytest.fixture
    def merge(self, project, alice, write):
        stays, goes = write("Run `make a` first."), write("Run `make b` first.")
        targets = ({"id": str(goes.pk)},)
        wanted = person_edits.person_change(
            "merge", {}, alice, reason="", entry=stays, targets=targets
        )
        return person_edits.submit_edit(project, wanted, alice)

    def test_the_delta_is_reverted_once_all_of_it_is(self, merge, revert_target):
        changes = PlaybookChange.objects.filter(delta_id=merge.pk).in_order()
        statuses = []
        for change in changes:
            revert_target(revert.change_target, change.pk)
            merge.refresh_from_db()
            statuses.append(merge.status)

        assert statuses == ["applied", "reverted"]


class TestMemoryThatIsGone:
    def test_it_is_no_obstacle_and_does_not_come_back(
        self, project, bob, alice, write, memory, revert_target
    ):
        entry = write()
        [gained] = votes.record(
            entry.project, [], [entry.pk], Cause(memory_id=memory.pk), bob
        )
        revert_target(revert.change_target, gained.pk)
        undone = PlaybookChange.objects.in_order().last()
        MemoryVector.objects.filter(memory=memory).delete()
        Memory.objects.filter(pk=memory.pk).delete()

        done = revert_target(revert.change_target, undone.pk)

        assert done.notes == ("1 memories are gone and support nothing again.",)
        assert entry.supporting_memory_ids == []
        assert replay.snapshot_at(project) == replay.current_snapshot(project)


class TestWhoMay:
    def test_it_needs_a_curator_of_the_project(
        self, write, project, bob, charlie, other_project
    ):
        write()
        change = PlaybookChange.objects.get()

        with pytest.raises(Forbidden):
            revert.change_target(project, change.pk, bob)
        with pytest.raises(NotFound):
            revert.change_target(project, change.pk, charlie)
        with pytest.raises(NotFound):
            revert.change_target(other_project, change.pk, charlie)
        with pytest.raises(NotFound):
            revert.delta_target(other_project, newest().pk, charlie)

    def test_it_is_in_the_audit_record(self, write, revert_target):
        entry = write()

        revert_target(revert.range_target, 0, None)

        verbs = AuditEvent.objects.filter(verb__in=["playbook.revert", "delta.undo"])
        assert {(event.verb, event.actor) for event in verbs} == {
            ("playbook.revert", "alice"),
            ("delta.undo", "alice"),
        }
        assert verbs.filter(object_id=str(entry.pk)).exists()
