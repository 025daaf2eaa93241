"""List the users, agents, apps and runs that have memories."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db.models import Case, Count, F, Max, Min, QuerySet, TextField, When
from django.db.models.fields.json import KeyTextTransform

from common.caller import Caller
from mcp_server.mem0 import entities
from memories.models import Memory
from projects.models import Project

OF_USER_SCOPE = When(scope_kind="user", then=F("scope_key"))
OF_APP_SCOPE = When(
    scope_kind="object", scope_type=entities.APP_TYPE, then=F("scope_key")
)
IDS: Mapping[str, Any] = {
    "user_id": Case(OF_USER_SCOPE, default=F("scope_user")),
    "agent_id": F("agent_id"),
    "app_id": Case(
        OF_APP_SCOPE,
        default=KeyTextTransform(entities.APP_KEY, "metadata"),
        output_field=TextField(),
    ),
    "run_id": F("scope_key"),
}


def list_entities(
    project: Project, caller: Caller, first: int, size: int
) -> tuple[int, list[dict[str, Any]]]:
    """Return how many entities there are, and those of a page: users first, then by name."""
    count = 0
    page: list[dict[str, Any]] = []
    for name in entities.NAMES:
        rows = find_entities(name, project, caller)
        number = rows.count()
        start = max(first - count, 0)
        if start < number and len(page) < size:
            found = rows[start : start + size - len(page)]
            page += [_describe(name, row, project) for row in found]
        count += number
    return count, page


def find_entities(name: str, project: Project, caller: Caller) -> QuerySet[Any, Any]:
    """Return the ids of a kind with their current memories, as rows of values."""
    rows = Memory.objects.visible_to(caller, project).current()
    grouped: QuerySet[Any, Any] = (
        rows.filter(entities.query_any(name))
        .order_by()
        .values(entity=IDS[name])
        .annotate(total=Count("pk"), first=Min("created_at"), last=Max("updated_at"))
        .order_by("entity")
    )
    return grouped


def has_ever_been(name: str, value: str, project: Project, caller: Caller) -> bool:
    """Whether an entity has or had a memory.

    mem0's `reset` deletes the users first and then the runs. A user's run is then empty
    already, which is no error.
    """
    rows = Memory.objects.visible_to(caller, project)
    return bool(rows.filter(entities.query_one(name, value)).exists())


def _describe(name: str, row: Mapping[str, Any], project: Project) -> dict[str, Any]:
    return {
        "id": row["entity"],
        "name": row["entity"],
        "type": name.removesuffix("_id"),
        "total_memories": row["total"],
        "created_at": row["first"].isoformat(),
        "updated_at": row["last"].isoformat(),
        "organization": str(project.organization_id),
    }
