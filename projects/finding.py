from __future__ import annotations

import uuid

from common import errors
from common.caller import Caller
from projects.models import Project


def project(named: str, caller: Caller) -> Project:
    """The project of an id or a name, if the caller may see it."""
    project_id = as_id(named)
    column = "id" if project_id else "name"
    found = Project.objects.raw(FOUND.format(column=column), [project_id or named])
    project = next(iter(found), None)
    if project is None or not project.is_visible_to(caller):
        raise errors.NotFound(
            f"There is no project {named[:200]!r}, or it is not yours to see."
        )
    return project


# Asked by every request: as a queryset, building it took longer than answering.
FOUND = "SELECT * FROM projects_project WHERE {column} = %s"


def as_id(text: str) -> uuid.UUID | None:
    try:
        return uuid.UUID(text)
    except ValueError:
        return None
