"""Apply each kind of delta to the entries, in a revision."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from django.utils.dateparse import parse_datetime

from common import errors
from common.caller import Caller
from inference.embedding.vector import Vector
from memories.lifecycle import delete
from memories.models import Memory
from playbook.history import votes
from playbook.history.revision import COUNTERS, Cause, Revision
from playbook.models import Playbook, PlaybookChange, PlaybookDelta, PlaybookEntry
from playbook.rule_text import applicability

Status = PlaybookEntry.EntryStatus
# Operations that write the text of an entry.
WRITES_TEXT = (
    PlaybookDelta.DeltaOperation.ADD,
    PlaybookDelta.DeltaOperation.UPDATE,
    PlaybookDelta.DeltaOperation.MERGE,
)
# Columns that a delta sets by its own columns, where it has a value for them.
LESSON_COLUMNS = ("content", "category", "tags", "applies_to", "expires_when")
# Columns that only a person sets; the payload of a delta has them.
PAYLOAD_COLUMNS = (
    "condition",
    "action",
    "priority",
    "pinned",
    "locked",
    "review_after",
)

# Further columns that an imported entry has.
IMPORTED_COLUMNS = ("aliases", "helpful", "harmful")


class EntryState(errors.StateConflict):
    """The state of the entry does not allow the request."""

    code = "entry_state"


class StaleEntry(errors.StaleVersion):
    """The entry has changed since you read it; read it again and repeat your change."""


def apply(
    playbook: Playbook,
    delta: PlaybookDelta,
    caller: Caller,
    *,
    status: PlaybookDelta.DeltaStatus,
    vector: Vector | None = None,
) -> list[PlaybookChange]:
    """Apply a saved delta as one revision, set its status, and return the changes in order.

    Every proposal changes entries in this way, under the lock of the playbook. Raises
    StaleEntry, EntryState, DuplicateEntry, OverBudget and UnsafeText. A delta that changes
    nothing makes no revision.
    """
    cause = Cause(
        reason=delta.reason,
        delta_id=delta.pk,
        run_id=delta.run_id,
        memory_id=delta.memory_id,
        agent_id=delta.agent_id,
    )
    revision = Revision(playbook, caller, cause)
    perform(revision, delta, vector)
    delta.status = status
    delta.version += 1
    delta.save()
    return revision.close()


def perform(
    revision: Revision, delta: PlaybookDelta, vector: Vector | None = None
) -> None:
    """Apply a delta within a revision.

    Errors are raised before anything is written: StaleEntry, EntryState, DuplicateEntry
    and OverBudget.
    """
    OPERATIONS[PlaybookDelta.DeltaOperation(delta.operation)](revision, delta, vector)
    if delta.operation in OPERATIONS_WITH_EVIDENCE:
        _support(revision, delta)


def load_target(delta: PlaybookDelta) -> PlaybookEntry:
    """Load the entry of a delta under the lock.

    Raises StaleEntry if the entry has another version than the delta expects.
    """
    entry = load_entry(delta.entry_id)
    refuse_stale(entry, delta.expected_version)
    return entry


def refuse_stale(entry: PlaybookEntry, expected_version: int | None) -> None:
    if expected_version is not None and entry.version != expected_version:
        raise StaleEntry(
            f"{entry.label} is at version {entry.version}, not {expected_version}; "
            "read it again and repeat your change.",
            current_version=entry.version,
        )


def columns_to_set(delta: PlaybookDelta) -> dict[str, Any]:
    """Return the columns that an addition or update sets, as Python values."""
    found = {
        name: delta.payload[name] for name in PAYLOAD_COLUMNS if name in delta.payload
    }
    if isinstance(found.get("review_after"), str):
        found["review_after"] = parse_datetime(found["review_after"])
    for name in LESSON_COLUMNS:
        value = getattr(delta, name)
        if value not in (None, ""):
            found[name] = value
    return found


def _add(revision: Revision, delta: PlaybookDelta, vector: Vector | None) -> None:
    imported = {n: delta.payload[n] for n in IMPORTED_COLUMNS if n in delta.payload}
    entry = PlaybookEntry(
        project_id=delta.project_id,
        author_kind=_author_kind(delta),
        **columns_to_set(delta),
        **imported,
    )
    _supersede(revision, entry, delta.targets)
    revision.add(entry, vector=vector)
    delta.entry = entry


def _author_kind(delta: PlaybookDelta) -> str:
    """Return who wrote the rule: the words of an agent are those of its model."""
    producers = PlaybookDelta.Producer
    return producers.MODEL if delta.producer == producers.AGENT else delta.producer


def _update(revision: Revision, delta: PlaybookDelta, vector: Vector | None) -> None:
    entry = _load_live(delta)
    _supersede(revision, entry, delta.targets)
    new_values = columns_to_set(delta)
    if aliases := delta.payload.get("aliases"):
        new_values["aliases"] = list(dict.fromkeys([*entry.aliases, *aliases]))
    changed = {n: v for n, v in new_values.items() if getattr(entry, n) != v}
    if "content" in changed and delta.producer == PlaybookDelta.Producer.HUMAN:
        changed["author_kind"] = PlaybookEntry.Author.HUMAN
    if changed:
        revision.change(entry, "update", changed, vector=vector)


def _supersede(
    revision: Revision, entry: PlaybookEntry, targets: Iterable[Mapping[str, Any]]
) -> None:
    """Retire the entries that a new or changed entry replaces.

    The entries are retired first, to free their tokens. Unlike a merge, the new entry
    takes over nothing from the retired entries.
    """
    for target in targets:
        other = _load_merge_source(target)
        changed = {"status": Status.SUPERSEDED, "superseded_by_id": entry.pk}
        revision.change(other, "supersede", changed)


def _tag(revision: Revision, delta: PlaybookDelta, vector: Vector | None) -> None:
    entry = _load_live(delta)
    tags = delta.tags or []
    if entry.tags != tags:
        revision.change(entry, "tag", {"tags": tags})


def _delete(revision: Revision, delta: PlaybookDelta, vector: Vector | None) -> None:
    entry = load_target(delta)
    if entry.status == Status.DELETED:
        raise EntryState(f"{entry.label} is already deleted.")
    revision.change(entry, "delete", {"status": Status.DELETED})


def _deprecate(revision: Revision, delta: PlaybookDelta, vector: Vector | None) -> None:
    revision.change(_load_live(delta), "deprecate", {"status": Status.DEPRECATED})


def _restore(revision: Revision, delta: PlaybookDelta, vector: Vector | None) -> None:
    entry = load_target(delta)
    if entry.is_live:
        raise EntryState(f"{entry.label} is already active.")
    _supersede(revision, entry, delta.targets)
    changed = {"status": Status.ACTIVE, "superseded_by_id": None}
    revision.change(entry, "restore", changed, vector=vector)


def _merge(revision: Revision, delta: PlaybookDelta, vector: Vector | None) -> None:
    """Merge other entries into one: sum the counters, keep supports and labels.

    Without other entries, merge the text of the delta into the entry, and set the
    columns of an import.
    """
    entry = _load_live(delta)
    others = [_load_merge_source(target) for target in delta.targets]
    is_empty = not others and not delta.content
    if is_empty or len({entry.pk, *(other.pk for other in others)}) <= len(others):
        raise EntryState(
            "A merge names at least one other entry, and each entry only once."
        )
    supports = [support.memory_id for o in others for support in o.supports.all()]
    for other in others:
        changed = {"status": Status.SUPERSEDED, "superseded_by_id": entry.pk}
        revision.change(other, "supersede", changed)
    counters = {
        name: getattr(entry, name)
        + sum(getattr(other, name) for other in others)
        + delta.payload.get(name, 0)
        for name in COUNTERS
    }
    labels = [name for other in others for name in (other.label, *other.aliases)]
    labels += delta.payload.get("aliases", [])
    tags = [tag for other in others for tag in other.tags]
    merged = {
        "merged_from": [*entry.merged_from, *(other.pk for other in others)],
        "aliases": list(dict.fromkeys([*entry.aliases, *labels])),
        "tags": list(dict.fromkeys([*entry.tags, *tags])),
        "applies_to": applicability.union(
            [entry.applies_to, *(other.applies_to for other in others)]
        ),
    }
    new_values = {**merged, **columns_to_set(delta), **counters}
    changed = {n: v for n, v in new_values.items() if getattr(entry, n) != v}
    if "content" in changed and delta.producer == PlaybookDelta.Producer.HUMAN:
        changed["author_kind"] = PlaybookEntry.Author.HUMAN
    if changed:
        revision.change(entry, "merge", changed, vector=vector)
    revision.support(entry, add=supports)


def _load_merge_source(target: Mapping[str, Any]) -> PlaybookEntry:
    entry = load_entry(uuid.UUID(str(target["id"])))
    refuse_stale(entry, target.get("version"))
    return _refuse_not_live(entry)


def _vote(revision: Revision, delta: PlaybookDelta, vector: Vector | None) -> None:
    """Count at most one vote for each entry and run (`playbook.history.votes`)."""
    kind = delta.payload.get("vote", "neutral")
    votes.count(revision, load_target(delta), kind, delta.run_id)


def _forget(revision: Revision, delta: PlaybookDelta, vector: Vector | None) -> None:
    """Delete the memory softly, and change no entry. A deleted memory stays deleted."""
    rows = Memory.objects.visible_to(revision.caller).filter(pk=delta.memory_id)
    memory = rows.only("pk").first()
    if memory is None:
        raise errors.NotFound(
            "The memory of this proposal is gone, or hidden from you."
        )
    delete.delete_memory(memory.pk, revision.caller, reason=delta.reason)


OPERATIONS: dict[
    PlaybookDelta.DeltaOperation,
    Callable[[Revision, PlaybookDelta, Vector | None], None],
] = {
    PlaybookDelta.DeltaOperation.ADD: _add,
    PlaybookDelta.DeltaOperation.UPDATE: _update,
    PlaybookDelta.DeltaOperation.DELETE: _delete,
    PlaybookDelta.DeltaOperation.MERGE: _merge,
    PlaybookDelta.DeltaOperation.DEPRECATE: _deprecate,
    PlaybookDelta.DeltaOperation.RESTORE: _restore,
    PlaybookDelta.DeltaOperation.TAG: _tag,
    PlaybookDelta.DeltaOperation.VOTE: _vote,
    PlaybookDelta.DeltaOperation.FORGET: _forget,
}
# Operations after which the memory of the delta supports the entry.
OPERATIONS_WITH_EVIDENCE = {"add", "update", "merge", "vote"}


def _support(revision: Revision, delta: PlaybookDelta) -> None:
    if delta.memory_id and Memory.objects.filter(pk=delta.memory_id).exists():
        assert delta.entry
        revision.support(delta.entry, add=[delta.memory_id])


def load_entry(entry_id: uuid.UUID | None) -> PlaybookEntry:
    found = PlaybookEntry.objects.light().filter(pk=entry_id).first()
    if found is None:
        raise errors.NotFound("The entry of this delta no longer exists.")
    entry: PlaybookEntry = found
    return entry


def _load_live(delta: PlaybookDelta) -> PlaybookEntry:
    return _refuse_not_live(load_target(delta))


def _refuse_not_live(entry: PlaybookEntry) -> PlaybookEntry:
    if not entry.is_live:
        raise EntryState(f"{entry.label} is {entry.status}; restore it first.")
    return entry
