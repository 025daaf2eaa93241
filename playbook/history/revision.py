"""Revisions: each changes entries under the lock of the playbook and records every change.

Every change of an entry goes through a `Revision`. `playbook.history.replay` rebuilds
the playbook from the change rows.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any

from django.utils import timezone

from audit import trail
from audit.models import AuditEvent
from common import errors
from common.caller import Caller
from common.erasure import redaction
from inference.embedding.vector import Vector
from playbook.entries import entry_index, entry_vectors, file_anchors, freshness
from playbook.history import live_guard
from playbook.history.live_guard import RuleText
from playbook.models import Playbook, PlaybookChange, PlaybookEntry, Support
from projects import search_language
from projects.models import Project

# Columns that replay restores. Derived columns (search, `is_active`), vectors and
# exposures are not restored.
COLUMNS = [
    "label",
    "content",
    "category",
    "condition",
    "action",
    "tags",
    "applies_to",
    "expires_when",
    "priority",
    "status",
    "helpful",
    "harmful",
    "neutral",
    "author_kind",
    "locked",
    "pinned",
    "created_at",
    "created_by",
    "updated_at",
    "verified_at",
    "review_after",
    "version",
    "superseded_by_id",
    "merged_from",
    "aliases",
]
# Columns that came later. The first change of an older entry does not have them.
LATER_COLUMNS: Mapping[str, Any] = {"applies_to": [], "expires_when": ""}
COUNTERS = ("helpful", "harmful", "neutral")
# A change holds only the ids that were added or removed, so that its row stays small.
SUPPORTS = "supporting_memory_ids"
# Columns from which the search columns are derived.
TEXTS = {"content", "category", "condition", "tags"}

EntryValues = dict[str, Any]


class DuplicateEntry(errors.StateConflict):
    """An active entry already says this; change that entry instead."""

    code = "duplicate_entry"


class OverBudget(errors.StateConflict):
    """The playbook would exceed its token budget; shorten or retire entries first."""

    code = "over_budget"


class PurgedEntry(errors.StateConflict):
    """The text of this entry was purged and cannot be restored; add a new entry."""

    code = "purged_entry"


@dataclass(frozen=True)
class Cause:
    """Why a revision was made.

    The change rows of the revision record the cause.
    """

    reason: str = ""
    delta_id: uuid.UUID | None = None
    run_id: uuid.UUID | None = None
    memory_id: uuid.UUID | None = None
    agent_id: str = ""


def lock_playbook(project: Project) -> Playbook:
    """Lock the project's playbook until the transaction ends.

    Create the playbook if it does not exist.
    """
    rows = Playbook.objects.select_for_update(no_key=True).filter(project=project)
    if (found := rows.first()) is None:
        Playbook.objects.bulk_create([Playbook(project=project)], ignore_conflicts=True)
        found = rows.get()
    playbook: Playbook = found
    playbook.project = project
    return playbook


def entry_values(entry: PlaybookEntry) -> EntryValues:
    """Return the replayable columns as JSON values, without the supports."""
    return {name: _to_json(getattr(entry, name)) for name in COLUMNS}


def next_label(playbook: Playbook, category: str) -> str:
    """Return the next label: the slug of the category and a number.

    Each number is used only once.
    """
    return f"{category.replace('_', '-')}-{playbook.next_label:05d}"


def refuse_purged(entry: PlaybookEntry) -> None:
    if entry.is_live and redaction.is_redacted(entry.content):
        raise PurgedEntry(f"The text of {entry.label} was purged; add a new entry.")


def refuse_repeated(entry: PlaybookEntry) -> None:
    """Raise DuplicateEntry if another active entry has the same text."""
    twin = (
        PlaybookEntry.objects.current()
        .filter(project_id=entry.project_id, similarity_hash=entry.similarity_hash)
        .exclude(pk=entry.pk)
        .first()
    )
    if twin:
        raise DuplicateEntry(
            f"{twin.label} already says this; change that entry instead.",
            entry_id=str(twin.pk),
        )


class Revision:
    """Collects changes of entries.

    `close()` writes the changes under the next revision number.
    """

    def __init__(self, playbook: Playbook, caller: Caller, cause: Cause) -> None:
        self.playbook = playbook
        self.caller = caller
        self.cause = cause
        self.number = playbook.revision + 1
        self.now = timezone.now()
        self.changes: list[PlaybookChange] = []
        self._has_text_without_vector = False
        self._reworded: list[PlaybookEntry] = []

    @cached_property
    def language(self) -> str:
        """The index language of the project, locked until the transaction ends.

        The language is read only when a text is written.
        """
        return search_language.pin_language(self.playbook.project_id)

    def add(
        self,
        entry: PlaybookEntry,
        *,
        action: str = "add",
        vector: Vector | None = None,
    ) -> None:
        """Insert an entry under the next label."""
        entry_index.fill(entry, self.language)
        refuse_repeated(entry)
        entry.label = next_label(self.playbook, entry.category)
        entry.created_at = entry.updated_at = self.now
        entry.created_by = self.caller.name[:200]
        if entry.review_after is None:
            entry.review_after = freshness.next_review(self.playbook.project, self.now)
        self.refuse_over_budget(entry.tokens)
        self.refuse_unsafe({entry.label: RuleText.of(entry).new_text(None)})
        entry.save(force_insert=True)
        self.playbook.next_label += 1
        self.playbook.tokens += entry.tokens
        self._reworded.append(entry)
        self._embed(entry, vector)
        self._record(entry, "add", action, {}, entry_values(entry))

    def change(
        self,
        entry: PlaybookEntry,
        action: str,
        new_values: EntryValues,
        *,
        vector: Vector | None = None,
    ) -> None:
        """Set columns of an entry.

        The playbook of the entry must be locked.
        """
        before, cost, was_live = entry_values(entry), entry.tokens, entry.is_live
        content, text_before = entry.content, RuleText.of(entry)
        for name, value in new_values.items():
            setattr(entry, name, value)
        entry.version += 1
        entry.updated_at = self.now
        columns = {*new_values, "version", "updated_at"}
        if TEXTS & columns:
            entry_index.fill(entry, self.language)
            columns |= {"content_tsv", "similarity_hash"}
        refuse_purged(entry)
        if entry.is_live and (content != entry.content or not was_live):
            refuse_repeated(entry)
        if entry.tokens > cost:
            self.refuse_over_budget(entry.tokens - cost)
        new_text = RuleText.of(entry).new_text(text_before)
        self.refuse_unsafe({entry.label: new_text})
        entry.save(update_fields=columns)
        self.playbook.tokens += entry.tokens - cost
        if content != entry.content:
            entry_vectors.drop(entry)
            self._reworded.append(entry)
            self._embed(entry, vector)
        operation = "delete" if was_live and not entry.is_live else "update"
        old, new = _changed_values(before, entry_values(entry))
        self._record(entry, operation, action, old, new)

    def count(
        self,
        entry: PlaybookEntry,
        steps: dict[str, int],
        *,
        action: str = "vote",
        reason: str = "",
    ) -> None:
        """Add to counters of an entry.

        The version of the entry stays, because it counts changes of the rule and not
        uses.
        """
        before = entry_values(entry)
        for name, step in steps.items():
            setattr(entry, name, getattr(entry, name) + step)
        entry.save(update_fields=list(steps))
        old, new = _changed_values(before, entry_values(entry))
        self._record(entry, "update", action, old, new, reason=reason)

    def confirm(self, entry: PlaybookEntry, review_after: datetime | None) -> None:
        """Record that a person confirmed the entry.

        The version of the entry stays.
        """
        before = entry_values(entry)
        entry.verified_at, entry.review_after = self.now, review_after
        entry.save(update_fields=["verified_at", "review_after"])
        old, new = _changed_values(before, entry_values(entry))
        self._record(entry, "update", "verify", old, new)

    def support(
        self,
        entry: PlaybookEntry,
        *,
        add: Sequence[uuid.UUID] = (),
        remove: Sequence[uuid.UUID] = (),
        action: str = "support",
    ) -> None:
        """Add and remove supporting memories, and record only actual changes."""
        have = set(
            entry.supports.filter(memory_id__in=[*add, *remove]).values_list(
                "memory_id", flat=True
            )
        )
        new = [pk for pk in dict.fromkeys(add) if pk not in have]
        old = [pk for pk in dict.fromkeys(remove) if pk in have]
        if not new and not old:
            return
        if old:
            entry.supports.filter(memory_id__in=old).delete()
        Support.objects.bulk_create(
            [Support(entry=entry, memory_id=memory_id) for memory_id in new]
        )
        before, after = ({SUPPORTS: [str(pk) for pk in ids]} for ids in (old, new))
        self._record(entry, "update", action, before, after)

    def revert(
        self,
        change: PlaybookChange,
        operation: str,
        before: EntryValues,
        after: EntryValues,
    ) -> None:
        """Record that a change was reverted.

        The caller has already written the entry. The new row names the delta and the
        run of the reverted change.
        """
        row = self._row(change.entry_id, change.entry_label, operation, "revert")
        row.before, row.after, row.reverts_id = before, after, change.pk
        row.delta_id, row.run_id = change.delta_id, change.run_id
        row.related_memory_id = change.related_memory_id
        self.changes.append(row)

    def refuse_over_budget(self, more: int) -> None:
        budget = self.playbook.project.options.budgets.playbook_tokens
        if self.playbook.tokens + more > budget:
            raise OverBudget(
                f"The playbook has {self.playbook.tokens} of {budget} tokens; "
                f"{more} more do not fit. Shorten or retire entries first."
            )

    def refuse_unsafe(self, texts: Mapping[str, str]) -> None:
        live_guard.refuse_unsafe(self.playbook.project, texts)

    def close(self) -> list[PlaybookChange]:
        """Write the change rows, the audit rows and the playbook's own row."""
        if not self.changes:
            return []
        PlaybookChange.objects.bulk_create(self.changes)
        self.playbook.revision = self.number
        self.playbook.save(update_fields=["revision", "next_label", "tokens"])
        file_anchors.refresh(self._reworded)
        self._audit()
        if self._has_text_without_vector:
            entry_vectors.embed_later(self.playbook.project_id)
        return self.changes

    def _audit(self) -> None:
        """Write one audit row for each entry.

        The audit row is named after the first change of the entry.
        """
        by_entry: dict[uuid.UUID, list[PlaybookChange]] = {}
        for change in self.changes:
            by_entry.setdefault(change.entry_id, []).append(change)
        trail.record_all(self._event(changes) for changes in by_entry.values())

    def _event(self, changes: Sequence[PlaybookChange]) -> AuditEvent:
        first = changes[0]
        return trail.build_event(
            self.caller,
            f"playbook.{first.action}",
            project_id=self.playbook.project_id,
            object_type="playbook_entry",
            object_id=first.entry_id,
            before=first.before,
            after=first.after,
            label=first.entry_label,
            revision=self.number,
            actions=[change.action for change in changes],
            delta_id=str(first.delta_id or ""),
        )

    def _embed(self, entry: PlaybookEntry, vector: Vector | None) -> None:
        if vector:
            entry_vectors.add(entry, vector)
        else:
            self._has_text_without_vector = True

    def _record(
        self,
        entry: PlaybookEntry,
        operation: str,
        action: str,
        before: EntryValues,
        after: EntryValues,
        *,
        reason: str = "",
    ) -> None:
        row = self._row(entry.pk, entry.label, operation, action)
        row.before, row.after = before, after
        row.reason = (reason or row.reason)[:1000]
        self.changes.append(row)

    def _row(
        self, entry_id: uuid.UUID, label: str, operation: str, action: str
    ) -> PlaybookChange:
        return PlaybookChange(
            project_id=self.playbook.project_id,
            revision=self.number,
            position=len(self.changes),
            operation=operation,
            action=action,
            entry_id=entry_id,
            entry_label=label,
            actor=self.caller.name[:200],
            agent_id=self.cause.agent_id or self.caller.agent_id,
            reason=self.cause.reason[:1000],
            related_memory_id=self.cause.memory_id,
            delta_id=self.cause.delta_id,
            run_id=self.cause.run_id,
            request_id=self.caller.request_id,
            changed_at=self.now,
        )


def _changed_values(
    before: EntryValues, after: EntryValues
) -> tuple[EntryValues, EntryValues]:
    names = [name for name in after if before[name] != after[name]]
    return {n: before[n] for n in names}, {n: after[n] for n in names}


def _to_json(value: Any) -> Any:
    if isinstance(value, uuid.UUID):
        return str(value)
    if isinstance(value, list):
        return [_to_json(item) for item in value]
    if hasattr(value, "isoformat"):
        return value.isoformat()
    return value
