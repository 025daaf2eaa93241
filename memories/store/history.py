"""Write the history row and the audit row of a change.

Both rows are written in the transaction of the change.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django.core.serializers.json import DjangoJSONEncoder

from audit import trail
from audit.models import AuditEvent
from common.caller import Caller
from common.db import Statement, execute_many, insert_statement
from memories.models import Memory, MemoryChange

# The fields that the history keeps. These are all fields that a person or a rule can
# change.
FIELDS = [
    "memory_type",
    "kind",
    "title",
    "key",
    "value",
    "content",
    "goal",
    "result",
    "feedback",
    "tool_usage",
    "steps",
    "outcome",
    "lessons",
    "tags",
    "metadata",
    "scope",
    "sensitivity",
    "confidence",
    "source",
    "user_id",
    "promoted_from",
    "compacted_from",
    "compaction",
    "created_in_session_id",
    "provenance",
    "occurred_at",
    "expires_at",
    "verified_at",
    "is_duplicate",
    "duplicate_of_id",
    "kept_apart",
    "superseded_by_id",
    "archived_at",
    "deleted_at",
    "delete_reason",
    "retired_into",
]


def snapshot(memory: Memory) -> dict[str, Any]:
    """Return the fields of a memory as JSON values, in the form {field: value}."""
    return {name: _to_json(getattr(memory, name)) for name in FIELDS}


def record(
    caller: Caller,
    action: MemoryChange.Action,
    memory: Memory,
    *,
    before: Mapping[str, Any] | None = None,
    reason: str = "",
) -> None:
    """Add the history row and the audit row of one change.

    `before` is the `snapshot()` that was taken before the change. For a new memory,
    `before` is None.
    """
    execute_many(*statements_of(caller, action, memory, before=before, reason=reason))


def statements_of(
    caller: Caller,
    action: MemoryChange.Action,
    memory: Memory,
    *,
    before: Mapping[str, Any] | None = None,
    reason: str = "",
) -> list[Statement]:
    """Return the statements that `record` runs.

    The caller can run them together with other statements in one round trip.
    """
    rows = _rows(caller, action, memory, before, reason)
    return [insert_statement([row]) for row in rows]


def record_new(
    caller: Caller, new: Sequence[tuple[MemoryChange.Action, Memory]]
) -> None:
    """Add the history rows and the audit rows of new memories."""
    rows = [_rows(caller, action, memory) for action, memory in new]
    trail.record_all(event for event, _ in rows)
    MemoryChange.objects.bulk_create(change for _, change in rows)


def _rows(
    caller: Caller,
    action: MemoryChange.Action,
    memory: Memory,
    before: Mapping[str, Any] | None = None,
    reason: str = "",
) -> tuple[AuditEvent, MemoryChange]:
    after = snapshot(memory)
    old, new = changed_fields(before, after)
    event = trail.build_event(
        caller,
        f"memory.{action}",
        project_id=memory.project_id,
        object_type="memory",
        object_id=memory.pk,
        before=before,
        after=after,
    )
    change = MemoryChange(
        memory_id=memory.pk,
        project_id=memory.project_id,
        action=action,
        actor=caller.name[:200],
        agent_id=caller.agent_id or memory.agent_id,
        source=memory.source,
        before=old,
        after=new,
        reason=reason[:500],
        request_id=caller.request_id,
    )
    return event, change


def changed_fields(
    before: Mapping[str, Any] | None, after: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the fields that differ, with their values before and after.

    For a new row, every field that is set counts as different.
    """
    if before is None:
        return {}, {k: v for k, v in after.items() if v not in (None, "", [], {})}
    names = [name for name in after if before.get(name) != after[name]]
    return {n: before.get(n) for n in names}, {n: after[n] for n in names}


def _to_json(value: Any) -> Any:
    if isinstance(value, uuid.UUID):
        return str(value)
    if isinstance(value, Mapping):
        return {key: _to_json(item) for key, item in value.items()}
    if isinstance(value, Iterable) and not isinstance(value, str):
        return [_to_json(item) for item in value]
    if value is None or isinstance(value, str | bool | int | float):
        return value
    return DjangoJSONEncoder().default(value)
