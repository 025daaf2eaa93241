"""TODO docstring."""

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
    """What the changes are narrowed to; None and empty narrow nothing.

    `operation` is add, update or delete (REQ-MEM-DM-007); `action` is finer.
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
    """The change history of a project (REQ-MEM-API-003)."""
    caller.require(Role.VIEWER, project.pk)
    wanted: dict[str, Any] = {
        "operation": filters.operation,
        "action": filters.action,
        "actor": filters.actor,
        "agent_id": filters.agent_id,
        "entry_id": filters.entry,
        "changed_at__gte": filters.date_from,
        "changed_at__lte": filters.date_to,
    }
    given = {name: value for name, value in wanted.items() if value}
    return _visible_changes(caller).filter(project_id=project.pk, **given)


def of_entry(entry: PlaybookEntry, caller: Caller) -> PlaybookChangeQuerySet:
    return _visible_changes(caller).filter(entry_id=entry.pk)


def _visible_changes(caller: Caller) -> PlaybookChangeQuerySet:
    """Visible changes with `is_seen`: whether the caller may know whose memory it was.

    A bound user sees what changed in the shared playbook, not from whose task.
    """
    rows: PlaybookChangeQuerySet = PlaybookChange.objects.visible_to(caller)
    memories = Memory.objects.visible_to(caller)
    theirs = Exists(memories.filter(pk=OuterRef("related_memory_id")))
    told: PlaybookChangeQuerySet = rows.annotate(
        is_seen=theirs if caller.user_id else Value(True)
    )
    return told


def content_diff(change: PlaybookChange) -> list[str]:
    """The changed text, line by line, as a unified diff without its head."""
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
    """Which of these memories the caller may see; another user's are not named."""
    if not caller.user_id:
        return {pk for pk in ids if pk}
    rows = Memory.objects.visible_to(caller).filter(pk__in=[pk for pk in ids if pk])
    return set(rows.values_list("pk", flat=True))
