"""The table of the review, row by row."""

from __future__ import annotations

import itertools

import pytest

from common.caller import Role
from playbook.models import PlaybookDelta
from playbook.review import available
from playbook.review.available import ACTIONS, Situation, find_refusal

STATUSES = [str(status) for status in PlaybookDelta.DeltaStatus]
OPERATIONS = [str(operation) for operation in PlaybookDelta.DeltaOperation]
RISKS = ["low", "medium", "high", "quarantine"]
ACCEPTING = {"accept", "edit", "merge"}
# What a curator may do with an addition of low risk that another key proposed.
EXPECTED = {
    "pending": {"accept", "edit", "merge", "reject"},
    "stale": {"accept", "edit", "merge", "reject"},
    "applied": {"undo"},
    "accepted": {"undo"},
    "edited": {"undo"},
    "rejected": set(),
    "reverted": {"undo"},
}


def possible(**case):
    given = {"status": "pending", "operation": "add", "risk": "low"}
    situation = Situation(**given | {"role": Role.CURATOR} | case)
    return {a for a in ACTIONS if find_refusal(a, situation) is None}


@pytest.mark.parametrize("status", STATUSES)
def test_a_status_allows_what_the_manual_says(status):
    assert possible(status=status) == EXPECTED[status]


@pytest.mark.parametrize("role", [None, Role.VIEWER, Role.WRITER])
def test_nobody_below_a_curator_decides_anything(role):
    for status, risk in itertools.product(STATUSES, RISKS):
        assert possible(status=status, risk=risk, role=role) == set()


@pytest.mark.parametrize("role", [Role.CURATOR, Role.OWNER])
@pytest.mark.parametrize("status", STATUSES)
def test_in_quarantine_the_words_are_not_accepted(status, role):
    allowed = possible(status=status, risk="quarantine", role=role)

    assert allowed == EXPECTED[status] - {"accept", "merge"}


@pytest.mark.parametrize("role", [Role.CURATOR, Role.OWNER])
@pytest.mark.parametrize("risk", RISKS)
def test_a_key_accepts_nothing_of_its_own(role, risk):
    assert not possible(role=role, risk=risk, is_own=True) & ACCEPTING


@pytest.mark.parametrize("role", [Role.CURATOR, Role.OWNER])
@pytest.mark.parametrize("risk", RISKS)
def test_only_low_risk_is_accepted_in_a_bulk(role, risk):
    allowed = possible(role=role, risk=risk, in_bulk=True)

    assert bool(allowed & ACCEPTING) == (risk == "low")
    assert "reject" in allowed


@pytest.mark.parametrize("warning", sorted(available.READ_ALONE))
def test_what_is_read_alone_is_not_accepted_in_a_bulk(warning):
    allowed = possible(in_bulk=True, warnings=frozenset({warning}))

    assert not allowed & ACCEPTING
    assert possible(warnings=frozenset({warning})) >= ACCEPTING


@pytest.mark.parametrize("operation", OPERATIONS)
def test_only_a_text_is_edited_or_merged(operation):
    allowed = possible(operation=operation)

    assert ("edit" in allowed) == (operation in ("add", "update", "merge"))
    assert ("merge" in allowed) == (operation in ("add", "update"))


def test_every_refusal_says_why():
    cases = itertools.product(STATUSES, OPERATIONS, RISKS, [None, *Role])
    for status, operation, risk, role in cases:
        case = Situation(status, operation, risk, role)
        for action in ACTIONS:
            refusal = find_refusal(action, case)
            assert refusal is None or refusal.detail
