from __future__ import annotations

import uuid

from common import errors
from common.caller import Caller
from projects.models import Project


def project(named: str, caller: Caller) -> Project:
    """The project of an id or a name, if the caller may see it."""
    rows = Project.objects.visible_to(caller).select_related("organization")
    project_id = as_id(named)
    found = rows.filter(pk=project_id) if project_id else rows.filter(name=named)
    project = found.first()
    if project is None:
        raise errors.NotFound(
            f"There is no project {named[:200]!r}, or it is not yours to see."
        )
    return project


def as_id(text: str) -> uuid.UUID | None:
    try:
        return uuid.UUID(text)
    except ValueError:
        return None
