"""Reopen a conflict: both sides are as they were before the decision."""

from __future__ import annotations

import pytest

from audit.models import AuditEvent
from common import errors
from playbook.conflicts import conflict_sides
from playbook.conflicts.conflict_lifecycle import ConflictState
from playbook.conflicts.contradiction import Contradiction
from playbook.history import replay
from playbook.models import Conflict, PlaybookDelta, PlaybookEntry
from playbook.proposals import person_edits, submission
from playbook.review import decide, reopen, resolve_conflict, revert
from playbook.review.resolution_steps import SplitPart
from tests.playbook.conflicts.test_conflicts import OPPOSITE, RULE, URL
from tests.playbook.conftest import apply_beside

PARTS = (SplitPart("On a laptop"), SplitPart("In the nightly build"))


@pytest.fixture
def waiting(project, bob, write, learned):
    """Alice's rule, and Bob's opposite that waits."""
    write(RULE)
    submission.propose(project, [learned(OPPOSITE)], bob)
    return Conflict.objects.get()


@pytest.fixture
def standing(alice, waiting):
    """The same conflict with both rules active, as older versions left it."""
    apply_beside(waiting.delta, alice)
    return Conflict.objects.get()


def seen(conflict):
    """What is told of both sides, but for the versions that every change moves."""
    found = conflict_sides.sides_of(Conflict.objects.get(pk=conflict.pk))
    return [
        (side.content, side.condition, side.status, bool(side.delta))
        for side in (found.left, found.right)
    ]


DECISIONS = {
    "newer": lambda conflict, by: resolve_conflict.supersede(conflict, by),
    "older": lambda conflict, by: resolve_conflict.supersede(
        conflict, by, winner="left"
    ),
    "split": lambda conflict, by: resolve_conflict.split(conflict, *PARTS, by),
    "reject": lambda conflict, by: resolve_conflict.reject(conflict, by),
}


@pytest.mark.parametrize("of", ["waiting", "standing"])
@pytest.mark.parametrize("decision", DECISIONS)
def test_both_sides_are_as_before(request, project, alice, of, decision):
    conflict = request.getfixturevalue(of)
    before = seen(conflict)
    decided = DECISIONS[decision](conflict, alice)
    assert seen(conflict) != before

    again = reopen.reopen_conflict(decided, alice)

    assert (again.state, again.decided_by, again.decided_at) == ("open", "", None)
    assert seen(conflict) == before
    assert replay.snapshot_at(project) == replay.current_snapshot(project)
    event = AuditEvent.objects.filter(object_id=conflict.pk).latest("pk")
    assert (event.verb, event.actor) == ("conflict.reopen", "alice")


@pytest.mark.parametrize("decision", DECISIONS)
def test_it_is_decided_again(waiting, alice, decision):
    first = DECISIONS[decision](waiting, alice)
    reopen.reopen_conflict(first, alice)

    again = DECISIONS[decision](Conflict.objects.get(), alice)

    assert again.state == first.state
    assert not PlaybookDelta.objects.pending().exists()


def test_a_reopened_proposal_supersedes_nothing_when_it_is_accepted(waiting, alice):
    decided = resolve_conflict.supersede(waiting, alice)
    reopen.reopen_conflict(decided, alice)

    with pytest.raises(Contradiction):
        decide.accept(PlaybookDelta.objects.get(pk=waiting.delta_id), alice)

    assert PlaybookEntry.objects.current().get().content == RULE


@pytest.mark.parametrize("of", ["waiting", "standing"])
@pytest.mark.parametrize("decision", ["newer", "split"])
@pytest.mark.parametrize("undone", [slice(None), slice(None, None, -1)])
@pytest.mark.parametrize("redone", [slice(None), slice(None, None, -1)])
def test_it_is_decided_as_before_once_its_deltas_are_in_force_again(
    request, project, alice, of, decision, undone, redone
):
    conflict = request.getfixturevalue(of)
    decided = DECISIONS[decision](conflict, alice)
    made = [revert.delta_target(project, pk, alice) for pk in decided.decided_with]
    for target in made[undone]:
        revert.revert_changes(project, target, alice)
        assert Conflict.objects.get().state in ("open", "rejected")

    if (of, decision) == ("waiting", "split"):
        # The newer rule returns only after the older one has its condition.
        redone = slice(None)
    for pk in decided.decided_with[redone]:
        assert Conflict.objects.get().decision != decided.decision
        revert.revert_changes(project, revert.delta_target(project, pk, alice), alice)

    assert Conflict.objects.get().decision == decided.decision
    assert reopen.reopen_conflict(decided, alice).state == "open"


class TestRefusals:
    def test_one_that_waits(self, waiting, alice):
        with pytest.raises(ConflictState, match="already waits for a decision"):
            reopen.reopen_conflict(waiting, alice)

    def test_one_that_closed_by_itself(self, waiting, alice):
        decide.reject(waiting.delta, alice, reason="no")

        with pytest.raises(ConflictState, match="Nobody decided this conflict"):
            reopen.reopen_conflict(waiting, alice)

    def test_one_that_was_decided_again(self, waiting, alice):
        first = resolve_conflict.reject(waiting, alice)
        reopen.reopen_conflict(first, alice)
        resolve_conflict.supersede(Conflict.objects.get(), alice)

        with pytest.raises(ConflictState, match="decided again by alice"):
            reopen.reopen_conflict(first, alice, decided_at=first.decided_at)

    def test_one_on_which_later_changes_depend(self, standing, alice):
        decided = resolve_conflict.split(standing, *PARTS, alice)
        entry = decided.left
        wanted = person_edits.change(
            entry, {"condition": "On a train"}, alice, reason="", version=None
        )
        person_edits.submit_edit(entry.project, wanted, alice)

        with pytest.raises(revert.Overlap):
            reopen.reopen_conflict(decided, alice)

        assert Conflict.objects.get().state == "split"

    def test_one_whose_side_is_gone(self, standing, alice):
        decided = resolve_conflict.reject(standing, alice)
        entry = decided.left
        wanted = person_edits.removal(entry, alice, reason="", version=None)
        person_edits.submit_edit(entry.project, wanted, alice)

        with pytest.raises(ConflictState, match="Nothing would be left to decide"):
            reopen.reopen_conflict(decided, alice)

    def test_a_writer(self, waiting, alice, bob):
        decided = resolve_conflict.reject(waiting, alice)

        with pytest.raises(errors.Forbidden):
            reopen.reopen_conflict(decided, bob)


class TestTheDoors:
    def test_a_conflict(self, waiting, alice, alice_api):
        decided = resolve_conflict.reject(waiting, alice)
        told = alice_api.get(f"{URL}/{decided.pk}").json()["decided_at"]

        answer = alice_api.post(f"{URL}/{decided.pk}/reopen", {"decided_at": told})

        assert answer.status_code == 200
        assert answer.json()["state"] == "open"
        assert answer.json()["right"]["status"] == "pending"
        again = alice_api.post(f"{URL}/{decided.pk}/reopen", {})
        assert (again.status_code, again.json()["code"]) == (409, "conflict_state")

    def test_a_delta(self, waiting, alice, alice_api):
        url = f"/api/v1/playbook/deltas/{waiting.delta_id}"
        decide.reject(waiting.delta, alice, reason="no")
        version = alice_api.get(url).json()["version"]

        answer = alice_api.post(f"{url}/reopen", {"expected_version": version})

        assert answer.status_code == 200
        assert answer.json()["delta"]["status"] == "pending"
        stale = alice_api.post(f"{url}/reopen", {"expected_version": version})
        assert (stale.status_code, stale.json()["code"]) == (409, "stale_version")

    def test_a_delta_once_for_a_key(self, waiting, alice, alice_api):
        url = f"/api/v1/playbook/deltas/{waiting.delta_id}/reopen"
        apply_beside(waiting.delta, alice)

        answers = [
            alice_api.post(url, {}, headers={"Idempotency-Key": "one"})
            for _ in range(2)
        ]

        assert [answer.status_code for answer in answers] == [200, 200]
        assert answers[0].json() == answers[1].json()
