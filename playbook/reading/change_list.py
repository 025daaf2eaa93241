"""Find the changes of a playbook."""

from __future__ import annotations

import difflib
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Exists, OuterRef, Value

from common.caller import Caller, Role
from memories.models import Memory
from playbook.models import PlaybookChange, PlaybookEntry
from playbook.queries import PlaybookChangeQuerySet
from projects.models import Project

ACTIONS = (
    "add",
    "update",
    "delete",
    "vote",
    "support",
    "merge",
    "deprecate",
    "supersede",
    "restore",
    "tag",
    "revert",
    "verify",
)


@dataclass(frozen=True)
class ChangeFilters:
    """Filters of changes.

    A field that is None or empty filters nothing. `operation` is add, update or delete
    (REQ-MEM-DM-007). `action` is more precise than `operation`.
    """

    operation: str = ""
    action: str = ""
    actor: str = ""
    agent_id: str = ""
    entry: uuid.UUID | None = None
    date_from: datetime | None = None
    date_to: datetime | None = None


def find(
    project: Project, filters: ChangeFilters, caller: Caller
) -> PlaybookChangeQuerySet:
    """Find the changes of a project (REQ-MEM-API-003)."""
    caller.require(Role.VIEWER, project.pk)
    filter_values: dict[str, Any] = {
        "operation": filters.operation,
        "action": filters.action,
        "actor": filters.actor,
        "agent_id": filters.agent_id,
        "entry_id": filters.entry,
        "changed_at__gte": filters.date_from,
        "changed_at__lte": filters.date_to,
    }
    active_filters = {name: value for name, value in filter_values.items() if value}
    return _visible_changes(caller).filter(project_id=project.pk, **active_filters)


def of_entry(entry: PlaybookEntry, caller: Caller) -> PlaybookChangeQuerySet:
    return _visible_changes(caller).filter(entry_id=entry.pk)


def _visible_changes(caller: Caller) -> PlaybookChangeQuerySet:
    """Select visible changes.

    The column `is_seen` says whether the caller may see the memory of the change. A
    bound user sees all changes of the shared playbook, but does not see whose task
    caused a change.
    """
    rows: PlaybookChangeQuerySet = PlaybookChange.objects.visible_to(caller)
    memories = Memory.objects.visible_to(caller)
    is_visible = Exists(memories.filter(pk=OuterRef("related_memory_id")))
    annotated_rows: PlaybookChangeQuerySet = rows.annotate(
        is_seen=is_visible if caller.user_id else Value(True)
    )
    return annotated_rows


def content_diff(change: PlaybookChange) -> list[str]:
    """Return the unified diff of the changed text, without its header."""
    before, after = change.before.get("content"), change.after.get("content")
    if before is None and after is None:
        return []
    lines = difflib.unified_diff(
        str(before or "").splitlines(), str(after or "").splitlines(), lineterm="", n=1
    )
    return [line for line in lines if not line.startswith(("---", "+++", "@@"))]


def visible_memory_ids(
    ids: Sequence[uuid.UUID | None], caller: Caller
) -> set[uuid.UUID]:
    """Return the ids of those memories that the caller may see."""
    if not caller.user_id:
        return {pk for pk in ids if pk}
    rows = Memory.objects.visible_to(caller).filter(pk__in=[pk for pk in ids if pk])
    return set(rows.values_list("pk", flat=True))
