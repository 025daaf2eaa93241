"""What a person does to the playbook: decide about deltas, and edit entries."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any

from common import errors
from common.caller import Caller, Role
from common.db import write
from common.text import secrets
from inference.embedding.vector import Vector
from memories.models import Memory
from memories.store.secret_policy import SecretFound
from playbook import (
    applying,
    disputes,
    drafts,
    operations,
    proposals,
    rejected,
    reviewing,
)
from playbook.drafts import WRITES_TEXT, Operation, Producer, Proposal
from playbook.models import PlaybookDelta, PlaybookEntry
from playbook.reviewing import DeltaState as DeltaState
from playbook.reviewing import Made
from playbook.reviewing import OwnDelta as OwnDelta
from projects.models import Project

Status = PlaybookDelta.Status
# Columns of an entry that a person may set; an unknown one is refused at the door.
EDITABLE = [
    "content",
    "category",
    "condition",
    "action",
    "tags",
    "priority",
    "pinned",
    "locked",
    "review_after",
]
IN_PROPOSAL = ("content", "category", "condition", "action", "tags")


def get(delta_id: uuid.UUID, caller: Caller, role: Role = Role.VIEWER) -> PlaybookDelta:
    """A delta that the caller sees and has the role for, or a refusal."""
    rows = PlaybookDelta.objects.visible_to(caller).with_entry()
    found: PlaybookDelta | None = rows.filter(pk=delta_id).first()
    if found is None:
        raise errors.NotFound(f"There is no delta {delta_id}.")
    caller.require(role, found.project_id)
    return found


def entry(
    entry_id: uuid.UUID, caller: Caller, role: Role = Role.VIEWER
) -> PlaybookEntry:
    """An entry that the caller sees and has the role for, or a refusal."""
    rows = PlaybookEntry.objects.visible_to(caller).light().select_related("project")
    found: PlaybookEntry | None = rows.filter(pk=entry_id).first()
    if found is None:
        raise errors.NotFound(f"There is no entry {entry_id}.")
    caller.require(role, found.project_id)
    return found


def accept(
    delta: PlaybookDelta,
    caller: Caller,
    *,
    version: int | None = None,
    note: str = "",
    made: Made | None = None,
) -> PlaybookDelta:
    """Apply a waiting delta. Of two curators at once exactly one succeeds.

    A delta whose entry has changed since becomes stale, and StaleEntry is raised with
    the entry's present version.
    """
    made = made or reviewing.embedded(delta, delta.content)
    return _decide(delta, caller, Status.ACCEPTED, {}, made.vector, version, note)


def edit_and_accept(
    delta: PlaybookDelta,
    changes: Mapping[str, Any],
    caller: Caller,
    *,
    version: int | None = None,
    note: str = "",
    made: Made | None = None,
) -> PlaybookDelta:
    """Apply a waiting delta in a person's own words, which makes it human-written.

    What was proposed stays in `suggested`.
    """
    if not changes:
        raise errors.Invalid("An edit names at least one column to change.")
    if delta.operation not in WRITES_TEXT:
        raise DeltaState(f"A delta that is a {delta.operation} has no text to edit.")
    refuse_secrets(delta.project, changes)
    refuse_unknown_category(delta.project, changes)
    made = made or reviewing.embedded(delta, changes.get("content") or delta.content)
    return _decide(delta, caller, Status.EDITED, changes, made.vector, version, note)


def _decide(
    delta: PlaybookDelta,
    caller: Caller,
    status: PlaybookDelta.Status,
    changes: Mapping[str, Any],
    vector: Vector | None,
    version: int | None,
    note: str,
) -> PlaybookDelta:
    caller.require(Role.CURATOR, delta.project_id)
    reviewing.refuse_own(delta, caller)
    try:
        return _accept(delta, caller, status, changes, vector, version, note)
    except operations.StaleEntry:
        # In its own transaction: the one that was refused is rolled back.
        reviewing.mark_stale(delta, caller)
        raise


@write
def _accept(
    delta: PlaybookDelta,
    caller: Caller,
    status: PlaybookDelta.Status,
    changes: Mapping[str, Any],
    vector: Vector | None,
    version: int | None,
    note: str,
) -> PlaybookDelta:
    playbook, delta = reviewing.hold_delta(delta, version)
    if changes:
        _reword(delta, changes)
    reviewing.sign(delta, caller, note)
    applying.apply(playbook, delta, caller, status=status, vector=vector)
    rejected.forget(delta)
    # Other rules have come since it was proposed, and the words may be others.
    disputes.file(delta, proposals.again(delta, vector).match)
    reviewing.audit(delta, caller, "edit" if changes else "accept")
    return delta


def _reword(delta: PlaybookDelta, changes: Mapping[str, Any]) -> None:
    delta.suggested = reviewing.as_proposed(delta)
    delta.producer = Producer.HUMAN
    for name, value in changes.items():
        if name in ("content", "category"):
            setattr(delta, name, value)
        else:
            delta.payload[name] = drafts.plain(value)


@write
def reject(
    delta: PlaybookDelta,
    caller: Caller,
    *,
    reason: str,
    reason_code: str = "",
    version: int | None = None,
) -> PlaybookDelta:
    """Decide against a waiting or stale delta, with the reason that its producer sees.

    A lesson that runs bring again is known by it (`playbook.rejected`), and two
    entries that were not merged are not brought up again (`playbook.tidying`).
    """
    caller.require(Role.CURATOR, delta.project_id)
    _, delta = reviewing.hold_delta(delta, version, also=(Status.STALE,))
    reviewing.sign(delta, caller, reason)
    if reason_code:
        delta.payload["reason_code"] = reason_code
    delta.status = Status.REJECTED
    delta.seen_again = 0
    delta.version += 1
    delta.save()
    if not rejected.recalled(delta):
        rejected.embed_later(delta.project_id)
    disputes.close_rejected(delta, caller)
    reviewing.audit(delta, caller, "reject")
    return delta


def addition(changes: Mapping[str, Any], caller: Caller, *, reason: str) -> Proposal:
    """An entry that a person writes."""
    return proposed(Operation.ADD, changes, caller, reason=reason)


def change(
    entry: PlaybookEntry,
    changes: Mapping[str, Any],
    caller: Caller,
    *,
    reason: str,
    version: int | None,
) -> Proposal:
    """A person's change of an entry, of the given version if there is one."""
    if not changes:
        raise errors.Invalid("A change names at least one column to change.")
    return proposed(
        Operation.UPDATE,
        changes,
        caller,
        reason=reason,
        entry=entry,
        expected_version=version,
    )


def removal(
    entry: PlaybookEntry, caller: Caller, *, reason: str, version: int | None
) -> Proposal:
    return proposed(
        Operation.DELETE,
        {},
        caller,
        reason=reason,
        entry=entry,
        expected_version=version,
    )


def proposed(
    operation: str, changes: Mapping[str, Any], caller: Caller, **fields: Any
) -> Proposal:
    """A proposal by a person unless `fields`, those of Proposal, say otherwise."""
    named = {name: changes[name] for name in IN_PROPOSAL if name in changes}
    if "tags" in named:
        named["tags"] = tuple(dict.fromkeys(named["tags"]))
    settings = {n: v for n, v in changes.items() if n not in IN_PROPOSAL}
    by = {"producer": Producer.HUMAN, "producer_name": caller.name}
    return Proposal(operation, settings=settings, **{**by, **named, **fields})


def sources(memory: Memory) -> dict[str, str]:
    """The texts of a memory that quotes may be cut from, by field."""
    names = ("content", "goal", "result", "feedback", "outcome", "lessons")
    return {name: getattr(memory, name) for name in names}


def edit(project: Project, proposal: Proposal, caller: Caller) -> PlaybookDelta:
    """File a person's own change: a curator's is applied, a writer's waits."""
    return proposals.propose(project, [proposal], caller)[0]


def refuse_unknown_category(project: Project, changes: Mapping[str, Any]) -> None:
    category, known = changes.get("category"), project.options.categories
    if category is not None and category not in known:
        listed = ", ".join(known)
        raise errors.Invalid(
            f"The project has no category {category}; it has {listed}.",
            errors={"category": [f"Must be one of {listed}."]},
        )


def refuse_secrets(project: Project, changes: Mapping[str, Any]) -> None:
    if project.options.secrets == "allow":
        return
    said = [str(changes[name]) for name in IN_PROPOSAL if name in changes]
    kinds = {kind for text in said for kind in secrets.mask(text).kinds}
    if kinds:
        found = ", ".join(sorted(kinds))
        raise SecretFound(f"The text holds a secret ({found}); take it out.")
