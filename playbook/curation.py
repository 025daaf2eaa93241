"""What a person does to the playbook: decide about deltas, and edit entries."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from django.utils import timezone

from audit import recording
from common import errors, secrets
from common.caller import Caller, Role
from common.writing import write
from memories.drafts import SecretFound
from memories.models import Memory
from playbook import applying, drafts, neighbours, operations, proposals
from playbook.drafts import Operation, Producer, Proposal
from playbook.models import Playbook, PlaybookDelta, PlaybookEntry
from playbook.revisions import hold
from projects.models import Project

Status = PlaybookDelta.Status
Vector = Sequence[float] | None
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


class OwnDelta(errors.Forbidden):
    """A key cannot approve what it proposed itself; another curator has to."""

    code = "own_delta"


class DeltaState(errors.Conflict):
    """The delta is decided already."""

    code = "delta_state"


@dataclass(frozen=True)
class Outcome:
    """What became of one delta of a bulk request."""

    delta_id: uuid.UUID
    status: str
    refusal: errors.Refusal | None = None


def get(delta_id: uuid.UUID, caller: Caller, role: Role = Role.VIEWER) -> PlaybookDelta:
    """A delta that the caller sees and has the role for, or a refusal."""
    rows = PlaybookDelta.objects.visible_to(caller).select_related("project", "entry")
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
    delta: PlaybookDelta, caller: Caller, *, version: int | None = None, note: str = ""
) -> PlaybookDelta:
    """Apply a waiting delta. Of two curators at once exactly one succeeds.

    A delta whose entry has changed since becomes stale, and StaleEntry is raised with
    the entry's present version.
    """
    return _decide(delta, caller, Status.ACCEPTED, {}, version=version, note=note)


def edit_and_accept(
    delta: PlaybookDelta,
    changes: Mapping[str, Any],
    caller: Caller,
    *,
    version: int | None = None,
    note: str = "",
) -> PlaybookDelta:
    """Apply a waiting delta in a person's own words, which makes it human-written."""
    if not changes:
        raise errors.Invalid("An edit names at least one column to change.")
    if delta.operation not in (Operation.ADD, Operation.UPDATE, Operation.MERGE):
        raise DeltaState(f"A delta that is a {delta.operation} has no text to edit.")
    _refuse_secrets(delta.project, changes)
    refuse_unknown_category(delta.project, changes)
    return _decide(delta, caller, Status.EDITED, changes, version=version, note=note)


def _decide(
    delta: PlaybookDelta,
    caller: Caller,
    status: PlaybookDelta.Status,
    changes: Mapping[str, Any],
    *,
    version: int | None,
    note: str,
) -> PlaybookDelta:
    caller.require(Role.CURATOR, delta.project_id)
    _refuse_own(delta, caller)
    vector = _vector(changes.get("content") or delta.content)
    try:
        return _accept(delta, caller, status, changes, vector, version, note)
    except operations.StaleEntry:
        # In its own transaction: the one that was refused is rolled back.
        _mark_stale(delta, caller)
        raise


def _vector(text: str) -> Vector:
    made = neighbours.embed([text]) if text else None
    return made[0] if made else None


@write
def _accept(
    delta: PlaybookDelta,
    caller: Caller,
    status: PlaybookDelta.Status,
    changes: Mapping[str, Any],
    vector: Vector,
    version: int | None,
    note: str,
) -> PlaybookDelta:
    playbook, delta = _hold(delta, version)
    for name, value in changes.items():
        if name in ("content", "category"):
            setattr(delta, name, value)
        else:
            delta.payload[name] = drafts.plain(value)
    if changes:
        delta.producer = Producer.HUMAN
    _review(delta, caller, note)
    applying.apply(playbook, delta, caller, status=status, vector=vector)
    _audit(delta, caller, "edit" if changes else "accept")
    return delta


@write
def _mark_stale(delta: PlaybookDelta, caller: Caller) -> None:
    rows = PlaybookDelta.objects.filter(pk=delta.pk).waiting()
    note = "The entry has changed since this was proposed."
    if rows.update(status=Status.STALE, review_note=note, version=delta.version + 1):
        _audit(delta, caller, "stale")


@write
def reject(
    delta: PlaybookDelta, caller: Caller, *, reason: str, version: int | None = None
) -> PlaybookDelta:
    """Decide against a waiting or stale delta, with the reason that its producer sees."""
    caller.require(Role.CURATOR, delta.project_id)
    _, delta = _hold(delta, version, also=(Status.STALE,))
    _review(delta, caller, reason)
    delta.status = Status.REJECTED
    delta.version += 1
    delta.save()
    _audit(delta, caller, "reject")
    return delta


def bulk(
    project: Project,
    delta_ids: Sequence[uuid.UUID],
    action: Literal["accept", "reject"],
    caller: Caller,
    *,
    reason: str = "",
) -> list[Outcome]:
    """Decide about many deltas, each on its own: one refusal does not stop the rest."""
    caller.require(Role.CURATOR, project.pk)
    rows = PlaybookDelta.objects.visible_to(caller).filter(project=project)
    found = rows.select_related("project", "entry").in_bulk(list(delta_ids))
    return [
        _one_of_many(found.get(pk), pk, action, caller, reason)
        for pk in dict.fromkeys(delta_ids)
    ]


def _one_of_many(
    delta: PlaybookDelta | None,
    delta_id: uuid.UUID,
    action: str,
    caller: Caller,
    reason: str,
) -> Outcome:
    try:
        if delta is None:
            raise errors.NotFound(f"There is no delta {delta_id}.")
        if action == "accept":
            done = accept(delta, caller, note=reason)
        else:
            done = reject(delta, caller, reason=reason)
    except errors.Refusal as refusal:
        return Outcome(delta_id, "refused", refusal)
    return Outcome(delta_id, done.status)


def _hold(
    delta: PlaybookDelta, version: int | None, also: tuple[str, ...] = ()
) -> tuple[Playbook, PlaybookDelta]:
    """Lock the playbook, then the delta, and refuse one that is decided already."""
    playbook = hold(delta.project)
    held = PlaybookDelta.objects.select_for_update(no_key=True).get(pk=delta.pk)
    held.project = delta.project
    if held.status not in (Status.PENDING, *also):
        by = f" by {held.reviewer}" if held.reviewer else ""
        raise DeltaState(f"This delta is {held.status}{by} already.")
    if version is not None and held.version != version:
        raise errors.StaleVersion(
            f"This delta is at version {held.version}, not {version}; read it again.",
            current_version=held.version,
        )
    return playbook, held


def _refuse_own(delta: PlaybookDelta, caller: Caller) -> None:
    if caller.key_id and delta.key_id == caller.key_id:
        raise OwnDelta


def _review(delta: PlaybookDelta, caller: Caller, note: str) -> None:
    delta.reviewer = caller.name[:200]
    delta.review_note = note[:1000]
    delta.reviewed_at = timezone.now()


def _audit(delta: PlaybookDelta, caller: Caller, verb: str) -> None:
    recording.record(
        caller,
        f"delta.{verb}",
        project_id=delta.project_id,
        object_type="playbook_delta",
        object_id=delta.pk,
        operation=delta.operation,
    )


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
    version = version or _version_seen(entry, caller)
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
    version = version or _version_seen(entry, caller)
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


def _version_seen(entry: PlaybookEntry | None, caller: Caller) -> int | None:
    """A writer's change waits, so it must fit what the writer saw."""
    if entry is None or caller.may(Role.CURATOR, entry.project_id):
        return None
    return entry.version


def refuse_unknown_category(project: Project, changes: Mapping[str, Any]) -> None:
    category, known = changes.get("category"), project.options.categories
    if category is not None and category not in known:
        listed = ", ".join(known)
        raise errors.Invalid(
            f"The project has no category {category}; it has {listed}.",
            errors={"category": [f"Must be one of {listed}."]},
        )


def _refuse_secrets(project: Project, changes: Mapping[str, Any]) -> None:
    if project.options.secrets == "allow":
        return
    texts = [str(changes[name]) for name in IN_PROPOSAL if name in changes]
    kinds = {kind for text in texts for kind in secrets.mask(text).kinds}
    if kinds:
        found = ", ".join(sorted(kinds))
        raise SecretFound(f"The text holds a secret ({found}); take it out.")
