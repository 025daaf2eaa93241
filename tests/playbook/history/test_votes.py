from __future__ import annotations

import uuid

import pytest
from django.db.models import ProtectedError

from common.errors import Forbidden
from memories.models import Memory
from playbook.history import replay, votes
from playbook.history.revision import Cause
from playbook.history.votes import Vote
from playbook.models import Playbook, PlaybookChange
from playbook.review import revert


@pytest.fixture
def cause(memory):
    return Cause(run_id=uuid.uuid4(), memory_id=memory.pk, agent_id="agent-1")


class TestVotes:
    @pytest.mark.parametrize("kind", ["helpful", "harmful", "neutral"])
    def test_it_counts_and_records_a_vote(self, write, bob, cause, kind):
        entry = write()

        [change] = votes.record(
            entry.project, [votes.Vote(entry.pk, kind)], [], cause, bob
        )

        entry.refresh_from_db()
        assert getattr(entry, kind) == 1
        assert (change.action, change.before, change.after) == (
            "vote",
            {kind: 0},
            {kind: 1},
        )
        assert (change.agent_id, change.run_id) == ("agent-1", cause.run_id)

    def test_it_counts_one_vote_of_a_run(self, write, bob, cause):
        entry = write()
        votes.record(entry.project, [votes.Vote(entry.pk, "helpful")], [], cause, bob)

        assert (
            votes.record(
                entry.project, [votes.Vote(entry.pk, "harmful")], [], cause, bob
            )
            == []
        )

        entry.refresh_from_db()
        assert (entry.helpful, entry.harmful) == (1, 0)

    def test_it_counts_a_vote_again_after_a_revert(self, write, alice, bob, cause):
        entry = write()
        cast = entry.project, [votes.Vote(entry.pk, "helpful")], [], cause, bob
        votes.record(*cast)
        run = revert.run_target(entry.project, cause.run_id, alice)
        revert.revert_changes(entry.project, run, alice)

        assert [len(votes.record(*cast)) for _ in range(2)] == [1, 0]

        entry.refresh_from_db()
        assert entry.helpful == 1

    def test_it_leaves_the_version_and_the_text_alone(self, write, bob, cause):
        entry = write(locked=True)
        votes.record(entry.project, [votes.Vote(entry.pk, "helpful")], [], cause, bob)

        fresh = write("Run `make lint`.")  # Another entry: the first is untouched.
        entry.refresh_from_db()
        assert (entry.version, fresh.version) == (1, 1)

    def test_it_passes_over_entries_of_other_projects(
        self, write, charlie, other_project, cause
    ):
        entry = write()

        changes = votes.record(
            other_project, [Vote(entry.pk, "harmful")], [], cause, charlie
        )

        entry.refresh_from_db()
        assert (changes, entry.harmful) == ([], 0)

    def test_it_makes_one_revision_of_what_a_run_says(self, write, project, bob, cause):
        one, two = write(), write("Run `make lint` before you push.")
        before = Playbook.objects.get().revision

        votes.record(
            project,
            [Vote(one.pk, "helpful"), Vote(two.pk, "neutral")],
            [one.pk, two.pk],
            cause,
            bob,
        )

        assert Playbook.objects.get().revision == before + 1
        assert PlaybookChange.objects.filter(revision=before + 1).count() == 4


class TestSupports:
    def test_it_names_the_memory_once(self, write, project, bob, cause, memory):
        entry = write()
        votes.record(entry.project, [], [entry.pk], cause, bob)

        assert votes.record(entry.project, [], [entry.pk], cause, bob) == []

        assert entry.supporting_memory_ids == [str(memory.pk)]
        assert replay.snapshot_at(project) == replay.current_snapshot(project)


class TestRefuted:
    @pytest.mark.parametrize(
        ("helpful", "harmful", "neutral", "expected"),
        [(0, 3, 2, True), (1, 4, 0, True), (0, 3, 1, False), (2, 4, 9, False)],
    )
    def test_it_needs_a_lead_of_three_in_five_uses(
        self, write, helpful, harmful, neutral, expected
    ):
        entry = write(author_kind="rule")
        entry.helpful, entry.harmful, entry.neutral = helpful, harmful, neutral

        assert votes.is_refuted(entry) == expected

    def test_it_spares_what_a_person_wrote_or_locked(self, write):
        entry = write()
        entry.harmful = 9

        assert not votes.is_refuted(entry)


class TestWithdrawing:
    def test_a_memory_ends_its_supports_by_a_change(
        self, project, write, alice, bob, cause, memory
    ):
        entry = write()
        votes.record(entry.project, [], [entry.pk], cause, bob)
        why = Cause(reason="Its memory is purged.")

        [change] = votes.withdraw_supports(project, [memory.pk], why, alice)

        assert (change.action, change.reason) == ("support", why.reason)
        assert entry.supporting_memory_ids == []
        assert replay.snapshot_at(project) == replay.current_snapshot(project)
        assert votes.withdraw_supports(project, [memory.pk], why, alice) == []

    def test_a_memory_cannot_go_while_it_supports_an_entry(
        self, write, bob, cause, memory
    ):
        entry = write()
        votes.record(entry.project, [], [entry.pk], cause, bob)

        with pytest.raises(ProtectedError):
            Memory.objects.filter(pk=memory.pk).delete()

    def test_it_needs_a_curator(self, project, bob, memory):
        with pytest.raises(Forbidden):
            votes.withdraw_supports(project, [memory.pk], Cause(), bob)
