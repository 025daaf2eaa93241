"""Refuse a decision that would make a rule active beside one that it contradicts.

The refusal opens the conflicts, in which a person supersedes, splits or rejects.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import asdict, replace
from typing import ParamSpec, TypeVar

from common.caller import Caller
from common.db import write
from inference.embedding.vector import Vector
from playbook import delta_vectors
from playbook.conflicts import conflict_lifecycle
from playbook.conflicts.contradiction import Contradiction, ReturningRule
from playbook.history.live_guard import RULE_COLUMNS
from playbook.models import Conflict, PlaybookDelta, PlaybookEntry
from playbook.proposals import gates, person_edits, submission
from playbook.proposals.proposed_change import Operation, Proposal
from playbook.review import available, delta_review, renewal

P = ParamSpec("P")
R = TypeVar("R")
# The largest number of rules of a revert for which conflicts are opened.
MAX_RETURNING = 50
# Columns that an edit or a merge of a waiting delta sets.
WORDS = (
    "operation",
    "entry_id",
    "expected_version",
    "content",
    "category",
    "payload",
    "suggested",
    "producer",
)


def refuse(delta: PlaybookDelta, vector: Vector | None, caller: Caller) -> None:
    """Raise Contradiction if a locked delta contradicts active entries."""
    found = submission.reevaluate(delta, vector).contradicted
    if found:
        raise Contradiction(found, caller=caller, delta=delta, vector=vector)


def opens_conflicts(decision: Callable[P, R]) -> Callable[P, R]:
    """Decorate a decision: if it is refused, open the conflicts in their own transaction.

    The transaction of the refused decision is rolled back before. A view that has an
    outer transaction calls `open_conflicts` again.
    """

    @functools.wraps(decision)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return decision(*args, **kwargs)
        except Contradiction as refusal:
            raise open_conflicts(refusal) from None

    return wrapper


def open_conflicts(refusal: Contradiction) -> Contradiction:
    """Open the conflicts of a refused decision, and return the refusal that names them.

    A repeated call changes nothing more. Raises DeltaState if the delta was decided
    meanwhile.
    """
    if refusal.delta:
        return _keep_delta(refusal, refusal.delta)
    if refusal.returning:
        return _file_returning(refusal)
    return refusal


@write
def _keep_delta(refusal: Contradiction, refused: PlaybookDelta) -> Contradiction:
    """Let the delta wait in the words that the person gave it."""
    words = {name: getattr(refused, name) for name in WORDS}
    playbook, delta = delta_review.lock_row(refused)
    if delta.status not in available.WAITING:
        raise available.DeltaState(f"This delta is already {delta.status}.")
    if any(getattr(delta, name) != value for name, value in words.items()):
        for name, value in words.items():
            setattr(delta, name, value)
        delta_vectors.drop(delta)
        delta_vectors.keep(delta, refusal.vector)
        renewal.renew(playbook, delta, refusal.caller, refusal.vector)
    _mark(delta, refusal)
    conflicts = [
        conflict_lifecycle.open_conflict(delta, near) for near in refusal.contradicted
    ]
    return Contradiction(
        refusal.contradicted,
        caller=refusal.caller,
        delta=delta,
        vector=refusal.vector,
        conflicts=conflicts,
    )


def _file_returning(refusal: Contradiction) -> Contradiction:
    """Propose the rules of a refused revert, so that a person can choose.

    A rule is left out if the entry that it contradicts would return with it.
    """
    caller = refusal.caller
    rules = {rule.entry_id: rule for rule in refusal.returning[:MAX_RETURNING]}
    entries = PlaybookEntry.objects.light().select_related("project").in_bulk(rules)
    proposals = [_return(entry, rules[pk], caller) for pk, entry in entries.items()]
    project = next(iter(entries.values())).project
    prepared = submission.prepare(project, proposals, caller)
    items = [item for item in prepared.items if item.contradicted]
    deltas = submission.submit(replace(prepared, items=items))
    rows = Conflict.objects.unresolved().filter(delta__in=deltas).order_by("pk")
    return Contradiction(
        refusal.contradicted,
        caller=caller,
        returning=refusal.returning,
        conflicts=list(rows.select_related("left", "right", "delta")),
        text=refusal.text,
    )


def _return(entry: PlaybookEntry, rule: ReturningRule, caller: Caller) -> Proposal:
    changes = {
        name: getattr(rule, name)
        for name in RULE_COLUMNS
        if getattr(entry, name) != getattr(rule, name)
    }
    return person_edits.person_proposal(
        Operation.UPDATE if entry.is_live else Operation.RESTORE,
        changes,
        caller,
        reason="A revert would bring this rule back.",
        entry=entry,
        expected_version=entry.version,
    )


def _mark(delta: PlaybookDelta, refusal: Contradiction) -> None:
    """Let the inbox show the contradiction, and let no bulk decision take the delta."""
    gate = gates.check_contradiction(refusal.contradicted)
    others = [one for one in delta.gates if one.get("name") != gate.name]
    delta.gates = [*others, asdict(gate)]
    if delta.risk != "quarantine":
        delta.risk = "high"
    delta.save()
