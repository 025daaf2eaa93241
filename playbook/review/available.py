"""Say which decision about a proposal is possible, and for whom: the table of the review.

The functions that decide ask this table under the lock. The API lists the table's
answers in `actions`, and the console and the admin offer only what it allows.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, get_args

from access.models import ApiKey
from common import errors
from common.caller import Caller, Role
from playbook.history import live_guard
from playbook.history.live_guard import UnsafePhrases, UnsafeText
from playbook.history.operations import WRITES_TEXT
from playbook.lessons.draft import Operation
from playbook.models import PlaybookDelta
from playbook.rule_text import unsafe_phrases

Status = PlaybookDelta.DeltaStatus
DeltaAction = Literal["accept", "edit", "merge", "reject", "undo"]
ACTIONS: tuple[DeltaAction, ...] = get_args(DeltaAction)
# Warnings after which a person reads a proposal alone, and not among others.
READ_ALONE = frozenset({"unsafe"})


class OwnDelta(errors.Forbidden):
    """A key cannot approve its own proposal; sign in, or let another curator decide."""

    code = "own_delta"


class DeltaState(errors.StateConflict):
    """The delta is already decided."""

    code = "delta_state"


class NotInForce(errors.StateConflict):
    """Only a delta in force can be undone, or, with its `expected_version`, an undo."""

    code = "not_applied"


class NotInBulk(errors.StateConflict):
    """Only proposals of low risk are accepted together; decide about this one alone."""

    code = "not_in_bulk"


@dataclass(frozen=True)
class ActionRule:
    """When an action is possible, for a curator.

    An action that `accepts` is refused to the key that proposed the delta, and in a bulk
    unless the risk is low. If the delta is in quarantine, an action that `keeps_words` is
    impossible.
    """

    statuses: frozenset[str]
    operations: frozenset[str] = frozenset(Operation)
    needs_content: bool = False
    accepts: bool = False
    keeps_words: bool = False


WAITING = frozenset({Status.PENDING, Status.STALE})
# Undoing an undo is an undo.
APPLIED = frozenset({*PlaybookDelta.IN_FORCE, Status.REVERTED})
CHANGES_ENTRIES = frozenset(Operation) - {Operation.FORGET}
TABLE: Mapping[DeltaAction, ActionRule] = {
    "accept": ActionRule(WAITING, accepts=True, keeps_words=True),
    "edit": ActionRule(WAITING, frozenset(WRITES_TEXT), accepts=True),
    "merge": ActionRule(
        WAITING,
        frozenset({Operation.ADD, Operation.UPDATE}),
        needs_content=True,
        accepts=True,
        keeps_words=True,
    ),
    "reject": ActionRule(WAITING),
    "undo": ActionRule(APPLIED, CHANGES_ENTRIES),
}


@dataclass(frozen=True)
class Situation:
    """Everything on which the answer depends.

    `warnings` are the names of the gates that did not pass.
    """

    status: str
    operation: str
    risk: str
    role: Role | None
    has_content: bool = True
    is_own: bool = False
    in_bulk: bool = False
    reviewer: str = ""
    warnings: frozenset[str] = frozenset()

    @property
    def is_quarantined(self) -> bool:
        return self.risk == "quarantine"


def find_refusal(action: DeltaAction, case: Situation) -> errors.Refusal | None:
    """Return why the action is impossible, or None if it is possible."""
    rule = TABLE[action]
    if case.role is None:
        return errors.NotFound()
    if case.role < Role.CURATOR:
        return errors.Forbidden(
            f"The request needs the role {Role.CURATOR.label}; "
            f"you have {case.role.label}."
        )
    if case.status not in rule.statuses:
        return _state_refusal(action, case)
    if refusal := operation_refusal(
        action, case.operation, has_content=case.has_content
    ):
        return refusal
    if rule.accepts and case.is_own:
        return OwnDelta()
    if rule.keeps_words and case.is_quarantined:
        return UnsafeText(
            "This proposal is in quarantine. Reject it, or accept it in other words."
        )
    return _bulk_refusal(case) if rule.accepts and case.in_bulk else None


def operation_refusal(
    action: DeltaAction, operation: str, *, has_content: bool
) -> DeltaState | None:
    """Return why no delta with this operation allows the action, or None."""
    rule = TABLE[action]
    if operation in rule.operations and (has_content or not rule.needs_content):
        return None
    if rule.operations is CHANGES_ENTRIES:
        return DeltaState("This proposal changed no entry; restore its memory instead.")
    verb = "merge" if action == "merge" else "edit"
    return DeltaState(f"A delta with the operation {operation} has no text to {verb}.")


def _state_refusal(action: DeltaAction, case: Situation) -> errors.Refusal:
    if action == "undo":
        return NotInForce(
            f"This delta is {case.status}; only what was applied can be undone."
        )
    by = f" by {case.reviewer}" if case.reviewer else ""
    return DeltaState(f"This delta is already {case.status}{by}.")


def _bulk_refusal(case: Situation) -> errors.Refusal | None:
    if case.is_quarantined:
        return NotInBulk("It is in quarantine, and is never accepted together.")
    if case.risk != "low":
        return NotInBulk(f"It has {case.risk} risk; decide about it alone.")
    if read_alone := sorted(case.warnings & READ_ALONE):
        names = ", ".join(read_alone)
        return NotInBulk(f"It has the warning {names}; decide about it alone.")
    return None


class Permissions:
    """What one caller may do with proposals."""

    def __init__(self, caller: Caller) -> None:
        self.caller = caller

    @cached_property
    def _own_keys(self) -> frozenset[uuid.UUID]:
        """The keys of the caller's line, so that a rotated key stays the same proposer."""
        line = ApiKey.objects.of_same_line(self.caller.key_id)
        return frozenset(line.values_list("pk", flat=True))

    def situation(self, delta: PlaybookDelta, *, in_bulk: bool = False) -> Situation:
        return Situation(
            status=delta.status,
            operation=delta.operation,
            risk=delta.risk,
            role=self.caller.role_in(delta.project_id),
            has_content=bool(delta.content),
            is_own=self._is_own(delta),
            in_bulk=in_bulk,
            reviewer=delta.reviewer,
            warnings=_warnings(delta),
        )

    def _is_own(self, delta: PlaybookDelta) -> bool:
        key_id = self.caller.key_id
        if key_id is None or delta.key_id is None:
            return False
        return delta.key_id == key_id or delta.key_id in self._own_keys

    def actions(self, delta: PlaybookDelta) -> list[DeltaAction]:
        """Return the actions that are possible now, in the order of the table."""
        case = self.situation(delta)
        return [action for action in ACTIONS if find_refusal(action, case) is None]

    def find_refusal(
        self, action: DeltaAction, delta: PlaybookDelta
    ) -> errors.Refusal | None:
        return find_refusal(action, self.situation(delta))


def _warnings(delta: PlaybookDelta) -> frozenset[str]:
    gates = [gate for gate in delta.gates if isinstance(gate, dict)]
    return frozenset(g["name"] for g in gates if g.get("verdict") != "pass")


def require(
    action: DeltaAction,
    delta: PlaybookDelta,
    caller: Caller,
    *,
    in_bulk: bool = False,
) -> None:
    """Raise the refusal of the table."""
    case = Permissions(caller).situation(delta, in_bulk=in_bulk)
    if refusal := find_refusal(action, case):
        raise refusal


def find_unsafe(delta: PlaybookDelta) -> list[UnsafePhrases]:
    """Return the proposed text if it is unsafe."""
    label = delta.entry.label if delta.entry else "The proposal"
    return live_guard.find_unsafe(delta.project, {label: proposed_text(delta)})


def proposed_text(delta: PlaybookDelta) -> str:
    """Return the text that the delta would write, as the checks read it."""
    if delta.operation == Operation.RESTORE and delta.entry:
        return live_guard.RuleText.of(delta.entry).whole
    payload = delta.payload
    return unsafe_phrases.join_columns(
        delta.content,
        str(payload.get("condition") or ""),
        str(payload.get("action") or ""),
        delta.tags or (),
    )
