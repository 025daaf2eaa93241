"""Memories and their changes in the shapes that mem0's clients read."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import UTC
from typing import Any

from mcp_server.mem0 import entities
from memories.models import Memory, MemoryChange
from projects.models import Project

EVENTS: Mapping[str, str] = {
    MemoryChange.Action.CREATE: "ADD",
    MemoryChange.Action.UPDATE: "UPDATE",
    MemoryChange.Action.DELETE: "DELETE",
}
# The fields of a memory that `fields` of a request can choose; `id` is always there.
FIELDS = (
    "id",
    "memory",
    *entities.NAMES,
    "hash",
    "metadata",
    "categories",
    "created_at",
    "updated_at",
    "expiration_date",
    "score",
)


def represent_memory(
    memory: Memory, *, score: float | None = None, fields: Collection[str] = ()
) -> dict[str, Any]:
    """Return a memory as mem0 answers it, with these fields or with all."""
    created = memory.occurred_at or memory.created_at
    expires = memory.expires_at
    whole: dict[str, Any] = {
        "id": str(memory.pk),
        "memory": memory.content,
        **entities.ids_of(memory),
        "hash": memory.similarity_hash,
        "metadata": own_metadata(memory.metadata),
        "categories": list(memory.tags),
        "created_at": created.isoformat(),
        "updated_at": memory.updated_at.isoformat(),
        "expiration_date": expires.astimezone(UTC).date().isoformat()
        if expires
        else None,
    }
    if score is not None:
        whole["score"] = round(score, 6)
    chosen = {"id", *fields} if fields else whole.keys()
    return {name: value for name, value in whole.items() if name in chosen}


def own_metadata(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return the metadata without the app, which has a field of its own."""
    return {k: v for k, v in metadata.items() if k != entities.APP_KEY}


def represent_changes(
    memory: Memory, changes: Sequence[MemoryChange]
) -> list[dict[str, Any]]:
    """Return the changes of a memory, which come newest first, oldest first.

    A change has the text before and after it, also if it changed something else.
    """
    text: str | None = memory.content
    user_id = entities.ids_of(memory)["user_id"]
    described = []
    for change in changes:
        is_deletion = change.action == MemoryChange.Action.DELETE
        is_first = not change.before
        after, before = text, None if is_first else change.before.get("content", text)
        described.append(
            {
                "id": str(change.pk),
                "memory_id": str(change.memory_id),
                "event": EVENTS.get(change.action, change.action.upper()),
                "old_memory": before,
                "new_memory": None if is_deletion else after,
                "user_id": user_id,
                "metadata": own_metadata(change.after.get("metadata") or {}),
                "created_at": change.at.isoformat(),
                "updated_at": change.at.isoformat(),
            }
        )
        text = before
    return described[::-1]


PROJECT_FIELDS = (
    "project_id",
    "org_id",
    "name",
    "description",
    "created_at",
    "updated_at",
)


def represent_project(project: Project) -> dict[str, Any]:
    return {
        "project_id": str(project.pk),
        "org_id": str(project.organization_id),
        "name": project.name,
        "description": project.description,
        "created_at": project.created_at.isoformat(),
        "updated_at": project.updated_at.isoformat(),
    }
