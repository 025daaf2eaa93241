"""Restore an exported playbook with its history into a project that has no playbook."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.dateparse import parse_datetime

from audit import trail
from common import errors
from common.caller import Caller, Role
from common.db import write
from common.ids import uuid7
from common.text import secrets
from playbook.conflicts import active_conflicts
from playbook.entries import entry_index, entry_vectors, file_anchors
from playbook.exchange.json_format import (
    ExportedChange,
    ExportedColumns,
    ExportedDelta,
    ExportedPlace,
    ExportedPlaybook,
)
from playbook.history import release
from playbook.history.release import RuleText
from playbook.history.revision import OverBudget, lock_playbook
from playbook.models import Playbook, PlaybookChange, PlaybookDelta, PlaybookEntry
from projects import search_language
from projects.models import Project
from projects.secret_policy import SecretFound

BATCH = 500  # number of rows in one INSERT
DATE_COLUMNS = ("created_at", "updated_at", "verified_at", "review_after")
Ids = Mapping[str, uuid.UUID]


class NotEmpty(errors.StateConflict):
    """The project already has a playbook; its history cannot be replaced."""

    code = "playbook_not_empty"


@dataclass(frozen=True)
class RestoreResult:
    entries: int
    notes: tuple[str, ...]


def is_empty(project: Project) -> bool:
    """Whether the project's playbook has no changes."""
    return not Playbook.objects.filter(project=project, revision__gt=0).exists()


def restore_playbook(
    project: Project,
    document: ExportedPlaybook,
    caller: Caller,
    *,
    release_reason: str = "",
) -> RestoreResult:
    """Write the entries and changes of an exported playbook without altering them.

    Raises NotEmpty, OverBudget, SecretFound, and NeedsRelease if active entries are
    unsafe and no owner releases them. The document has no supports, because
    the memories belong to the other project (decision 0012).
    """
    caller.require(Role.CURATOR, project.pk)
    if project.options.secrets != "allow":
        _refuse_secrets(document)
    _write_history(project, document, caller, release_reason)
    notes = [*_notes(project, document), *_conflict_notes(project, caller)]
    return RestoreResult(len(document.entries), tuple(notes))


def _conflict_notes(project: Project, caller: Caller) -> Iterator[str]:
    """Open the conflicts of restored entries; the document holds entries only."""
    rows = PlaybookEntry.objects.current().filter(project=project)
    ids = list(rows.values_list("pk", flat=True))
    if opened := active_conflicts.open_between(project, ids, caller):
        yield (
            f"{opened} pairs of its active entries contradict each other; decide their "
            "conflicts."
        )


@write
def _write_history(
    project: Project,
    document: ExportedPlaybook,
    caller: Caller,
    release_reason: str,
) -> None:
    playbook = lock_playbook(project)
    if playbook.revision:
        raise NotEmpty
    ids = {change.entry: uuid7() for change in document.changes if _is_addition(change)}
    language = search_language.pin_language(project.pk)
    entries = [_entry(project, columns, ids) for columns in document.entries]
    for entry in entries:
        entry_index.fill(entry, language)
    _refuse_over_budget(project, entries)
    texts = {entry.label: RuleText.of(entry).new_text(None) for entry in entries}
    released = release.require_release(project, caller, texts, release_reason)
    # Sort the entries by their creation: ids sort in the order of their creation.
    entries.sort(key=lambda entry: entry.pk)
    PlaybookEntry.objects.bulk_create(entries, batch_size=BATCH)
    file_anchors.refresh(entries)
    runs: dict[int, uuid.UUID] = {}
    deltas = _deltas(project, document, ids, runs)
    _changes(project, document, ids, deltas, runs)
    playbook.revision = document.revision
    playbook.next_label = document.next_label
    playbook.tokens = sum(entry.tokens for entry in entries)
    playbook.save(update_fields=["revision", "next_label", "tokens"])
    _record_audit(playbook, document, caller)
    if released:
        release.record_release(caller, playbook, released, release_reason)
    entry_vectors.embed_later(project.pk)


def _is_addition(change: ExportedChange) -> bool:
    return change.operation == "add"


def _entry(project: Project, columns: ExportedColumns, ids: Ids) -> PlaybookEntry:
    values = columns.values
    successor = values.pop("superseded_by")
    values["merged_from"] = [ids[label] for label in values["merged_from"]]
    moments = {name: _moment(values.pop(name)) for name in DATE_COLUMNS}
    return PlaybookEntry(
        pk=ids[columns.label],
        project=project,
        superseded_by_id=ids[successor] if successor else None,
        **values,
        **moments,
    )


def _moment(text: str | None) -> Any:
    return parse_datetime(text) if text else None


def _refuse_over_budget(project: Project, entries: list[PlaybookEntry]) -> None:
    total = sum(entry.tokens for entry in entries)
    budget = project.options.budgets.playbook_tokens
    if total > budget:
        raise OverBudget(
            f"The playbook has {total} tokens, and the budget of this project is {budget}. "
            "Raise the budget first."
        )


def _deltas(
    project: Project, document: ExportedPlaybook, ids: Ids, runs: dict[int, uuid.UUID]
) -> dict[int, uuid.UUID]:
    """Write the deltas, and return a dict of their ids by number."""
    rows = [_delta(project, delta, ids, runs) for delta in document.deltas]
    PlaybookDelta.objects.bulk_create(rows, batch_size=BATCH)
    for row, delta in zip(rows, document.deltas, strict=True):
        row.created_at = _moment(delta.created_at)
    # An INSERT sets this column to the current time.
    PlaybookDelta.objects.bulk_update(rows, ["created_at"], batch_size=BATCH)
    return {d.number: row.pk for d, row in zip(document.deltas, rows, strict=True)}


def _delta(
    project: Project, delta: ExportedDelta, ids: Ids, runs: dict[int, uuid.UUID]
) -> PlaybookDelta:
    converted_fields = {
        "number",
        "entry",
        "targets",
        "run",
        "reviewed_at",
        "created_at",
    }
    targets = [
        {"id": str(ids[target.entry]), "version": target.version}
        for target in delta.targets
    ]
    return PlaybookDelta(
        id=uuid7(),
        project=project,
        entry_id=ids[delta.entry] if delta.entry else None,
        targets=targets,
        run_id=_id_for_number(delta.run, runs),
        reviewed_at=_moment(delta.reviewed_at),
        idempotency_key=uuid7().hex,
        **delta.model_dump(exclude=converted_fields),
    )


def _id_for_number(number: int | None, ids: dict[int, uuid.UUID]) -> uuid.UUID | None:
    """Return the id for a number of the document.

    The id is created when the number is used first.
    """
    return None if number is None else ids.setdefault(number, uuid7())


def _changes(
    project: Project,
    document: ExportedPlaybook,
    ids: Ids,
    deltas: dict[int, uuid.UUID],
    runs: dict[int, uuid.UUID],
) -> None:
    places: dict[tuple[int, int], uuid.UUID] = {}
    rows = []
    for change in document.changes:
        row = PlaybookChange(
            id=uuid7(),
            project_id=project.pk,
            before=_to_entry_values(change.before, ids),
            after=_to_entry_values(change.after, ids),
            entry_id=ids[change.entry],
            entry_label=change.entry,
            delta_id=_id_for_number(change.delta, deltas),
            run_id=_id_for_number(change.run, runs),
            reverts_id=places[_place(change.reverts)] if change.reverts else None,
            changed_at=_moment(change.changed_at),
            **change.model_dump(include=COPIED_FIELDS),
        )
        places[_place(change)] = row.pk
        rows.append(row)
    PlaybookChange.objects.bulk_create(rows, batch_size=BATCH)


def _place(place: ExportedPlace) -> tuple[int, int]:
    return place.revision, place.position


COPIED_FIELDS = {
    *("revision", "position", "operation", "action"),
    *("actor", "agent_id", "reason", "request_id"),
}


def _to_entry_values(columns: ExportedColumns, ids: Ids) -> dict[str, Any]:
    values = columns.values
    if "superseded_by" in values:
        label = values.pop("superseded_by")
        values["superseded_by_id"] = str(ids[label]) if label else None
    if "merged_from" in values:
        values["merged_from"] = [str(ids[label]) for label in values["merged_from"]]
    return values


def _record_audit(
    playbook: Playbook, document: ExportedPlaybook, caller: Caller
) -> None:
    whole = document.model_dump_json().encode()
    trail.record(
        caller,
        "playbook.restore_history",
        project_id=playbook.project_id,
        object_type="playbook",
        object_id=playbook.pk,
        revision=document.revision,
        entries=len(document.entries),
        changes=len(document.changes),
        sha256=hashlib.sha256(whole).hexdigest(),
    )


def _refuse_secrets(document: ExportedPlaybook) -> None:
    for text in dict.fromkeys(_texts(document)):
        if kinds := secrets.mask(text).kinds:
            found = ", ".join(kinds)
            raise SecretFound(f"The history holds a secret ({found}); take it out.")


def _texts(document: ExportedPlaybook) -> Iterator[str]:
    for change in document.changes:
        after = change.after
        yield from filter(None, (after.content, after.condition, after.action))
        yield change.reason
    for delta in document.deltas:
        yield delta.content


def _notes(project: Project, document: ExportedPlaybook) -> Iterator[str]:
    live = [entry for entry in document.entries if entry.status == "active"]
    unknown = {e.category for e in live}.difference(project.options.categories)
    if unknown:
        names = ", ".join(sorted(unknown))
        yield f"The project has no category {names}; its entries keep it."
