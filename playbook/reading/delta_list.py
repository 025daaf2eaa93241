"""Find the proposals of a playbook."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from common import errors
from common.caller import Caller, Role
from playbook.models import PlaybookDelta
from playbook.queries import DeltaQuerySet
from projects.models import Project


@dataclass(frozen=True)
class DeltaFilters:
    status: tuple[str, ...] = ()
    operation: tuple[str, ...] = ()
    producer: str = ""
    risk: str = ""
    entry: uuid.UUID | None = None
    run_id: uuid.UUID | None = None


def find(project: Project, filters: DeltaFilters, caller: Caller) -> DeltaQuerySet:
    """Find proposals in any status, with their quotes.

    The result is for people and not for agents.
    """
    caller.require(Role.VIEWER, project.pk)
    filter_values: Mapping[str, Any] = {
        "status__in": filters.status,
        "operation__in": filters.operation,
        "producer": filters.producer,
        "risk": filters.risk,
        "entry_id": filters.entry,
        "run_id": filters.run_id,
    }
    active_filters = {name: value for name, value in filter_values.items() if value}
    rows: DeltaQuerySet = PlaybookDelta.objects.visible_to(caller)
    return rows.filter(project=project, **active_filters).with_entry()


def get(delta_id: uuid.UUID, caller: Caller, role: Role = Role.VIEWER) -> PlaybookDelta:
    """Return a delta if the caller may see it in this role.

    Raises NotFound and Forbidden.
    """
    rows = PlaybookDelta.objects.visible_to(caller).with_entry()
    found: PlaybookDelta | None = rows.filter(pk=delta_id).first()
    if found is None:
        raise errors.NotFound(f"There is no delta {delta_id}.")
    caller.require(role, found.project_id)
    return found
