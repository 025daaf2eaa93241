"""The decision about a conflict taken back: both sides are as they were before it."""

from __future__ import annotations

import pytest

from audit.models import AuditEvent
from common import errors
from playbook import (
    conflicts,
    curation,
    proposals,
    reopening,
    replay,
    resolving,
    reverting,
)
from playbook.conflicts import ConflictState
from playbook.models import Conflict, PlaybookDelta, PlaybookEntry
from playbook.rulings import Part
from tests.playbook.test_conflicts import OPPOSITE, RULE, URL

PARTS = (Part("On a laptop"), Part("In the nightly build"))


@pytest.fixture
def waiting(project, bob, write, learned):
    """Alice's rule, and Bob's opposite that waits."""
    write(RULE)
    proposals.propose(project, [learned(OPPOSITE)], bob)
    return Conflict.objects.get()


@pytest.fixture
def standing(alice, waiting):
    """The same conflict once both rules stand."""
    curation.accept(waiting.delta, alice)
    return Conflict.objects.get()


def seen(conflict):
    """What is told of both sides, but for the versions that every change moves."""
    found = conflicts.sides(Conflict.objects.get(pk=conflict.pk))
    return [
        (side.content, side.condition, side.status, bool(side.delta))
        for side in (found.left, found.right)
    ]


DECISIONS = {
    "newer": lambda conflict, by: resolving.supersede(conflict, by),
    "older": lambda conflict, by: resolving.supersede(conflict, by, winner="left"),
    "split": lambda conflict, by: resolving.split(conflict, *PARTS, by),
    "reject": lambda conflict, by: resolving.reject(conflict, by),
}


@pytest.mark.parametrize("of", ["waiting", "standing"])
@pytest.mark.parametrize("decision", DECISIONS)
def test_both_sides_are_as_before(request, project, alice, of, decision):
    conflict = request.getfixturevalue(of)
    before = seen(conflict)
    decided = DECISIONS[decision](conflict, alice)
    assert seen(conflict) != before

    again = reopening.reopen_conflict(decided, alice)

    assert (again.state, again.decided_by, again.decided_at) == ("open", "", None)
    assert seen(conflict) == before
    assert replay.state_at(project) == replay.present(project)
    event = AuditEvent.objects.filter(object_id=conflict.pk).latest("pk")
    assert (event.verb, event.actor) == ("conflict.reopen", "alice")


@pytest.mark.parametrize("decision", DECISIONS)
def test_it_is_decided_anew(waiting, alice, decision):
    first = DECISIONS[decision](waiting, alice)
    reopening.reopen_conflict(first, alice)

    again = DECISIONS[decision](Conflict.objects.get(), alice)

    assert again.state == first.state
    assert not PlaybookDelta.objects.waiting().exists()


def test_a_reopened_proposal_supersedes_nothing_when_it_is_accepted(waiting, alice):
    decided = resolving.supersede(waiting, alice)
    reopening.reopen_conflict(decided, alice)

    curation.accept(PlaybookDelta.objects.get(pk=waiting.delta_id), alice)

    assert PlaybookEntry.objects.current().count() == 2


@pytest.mark.parametrize("of", ["waiting", "standing"])
@pytest.mark.parametrize("decision", ["newer", "split"])
@pytest.mark.parametrize("undone", [slice(None), slice(None, None, -1)])
@pytest.mark.parametrize("redone", [slice(None), slice(None, None, -1)])
def test_it_is_decided_as_before_once_its_deltas_are_in_force_again(
    request, project, alice, of, decision, undone, redone
):
    conflict = request.getfixturevalue(of)
    decided = DECISIONS[decision](conflict, alice)
    made = [reverting.delta(project, pk, alice) for pk in decided.decided_with]
    for target in made[undone]:
        reverting.revert(project, target, alice)
        assert Conflict.objects.get().state in ("open", "rejected")

    for pk in decided.decided_with[redone]:
        assert Conflict.objects.get().decision != decided.decision
        reverting.revert(project, reverting.delta(project, pk, alice), alice)

    assert Conflict.objects.get().decision == decided.decision
    assert reopening.reopen_conflict(decided, alice).state == "open"


class TestRefusals:
    def test_one_that_waits(self, waiting, alice):
        with pytest.raises(ConflictState, match="waits for a decision already"):
            reopening.reopen_conflict(waiting, alice)

    def test_one_that_closed_by_itself(self, waiting, alice):
        curation.reject(waiting.delta, alice, reason="no")

        with pytest.raises(ConflictState, match="Nobody decided this conflict"):
            reopening.reopen_conflict(waiting, alice)

    def test_one_that_was_decided_anew(self, waiting, alice):
        first = resolving.reject(waiting, alice)
        reopening.reopen_conflict(first, alice)
        resolving.supersede(Conflict.objects.get(), alice)

        with pytest.raises(ConflictState, match="decided anew by alice"):
            reopening.reopen_conflict(first, alice, decided_at=first.decided_at)

    def test_one_on_which_later_changes_stand(self, standing, alice):
        decided = resolving.split(standing, *PARTS, alice)
        entry = decided.left
        wanted = curation.change(
            entry, {"condition": "On a train"}, alice, reason="", version=None
        )
        curation.edit(entry.project, wanted, alice)

        with pytest.raises(reverting.Overlap):
            reopening.reopen_conflict(decided, alice)

        assert Conflict.objects.get().state == "split"

    def test_one_whose_side_is_gone(self, standing, alice):
        decided = resolving.reject(standing, alice)
        entry = decided.left
        wanted = curation.removal(entry, alice, reason="", version=None)
        curation.edit(entry.project, wanted, alice)

        with pytest.raises(ConflictState, match="Nothing would be left to decide"):
            reopening.reopen_conflict(decided, alice)

    def test_a_writer(self, waiting, alice, bob):
        decided = resolving.reject(waiting, alice)

        with pytest.raises(errors.Forbidden):
            reopening.reopen_conflict(decided, bob)


class TestTheDoors:
    def test_a_conflict(self, waiting, alice, alice_api):
        decided = resolving.reject(waiting, alice)
        told = alice_api.get(f"{URL}/{decided.pk}").json()["decided_at"]

        answer = alice_api.post(f"{URL}/{decided.pk}/reopen", {"decided_at": told})

        assert answer.status_code == 200
        assert answer.json()["state"] == "open"
        assert answer.json()["right"]["status"] == "pending"
        again = alice_api.post(f"{URL}/{decided.pk}/reopen", {})
        assert (again.status_code, again.json()["code"]) == (409, "conflict_state")

    def test_a_delta(self, waiting, alice, alice_api):
        url = f"/api/v1/playbook/deltas/{waiting.delta_id}"
        curation.reject(waiting.delta, alice, reason="no")
        version = alice_api.get(url).json()["version"]

        answer = alice_api.post(f"{url}/reopen", {"expected_version": version})

        assert answer.status_code == 200
        assert answer.json()["delta"]["status"] == "pending"
        stale = alice_api.post(f"{url}/reopen", {"expected_version": version})
        assert (stale.status_code, stale.json()["code"]) == (409, "stale_version")

    def test_a_delta_once_for_a_key(self, waiting, alice, alice_api):
        url = f"/api/v1/playbook/deltas/{waiting.delta_id}/reopen"
        curation.accept(waiting.delta, alice)

        answers = [
            alice_api.post(url, {}, headers={"Idempotency-Key": "one"})
            for _ in range(2)
        ]

        assert [answer.status_code for answer in answers] == [200, 200]
        assert answers[0].json() == answers[1].json()
