"""Find the project that a request names."""

from __future__ import annotations

import uuid

from common import errors
from common.caller import Caller
from common.db import RowReader
from common.text.normalise import normalise
from projects.models import Project


class IdOrNameConverter:
    """The id or the name of a project in a path. A name may have slashes."""

    regex = "[^/]+(?:/[^/]+)*"

    def to_python(self, value: str) -> str:
        return value

    def to_url(self, value: object) -> str:
        return str(value)


def find_project(id_or_name: str, caller: Caller) -> Project:
    """Find a project by id or name; refuse if the caller may not see it."""
    project_id = parse_id(id_or_name)
    column = "id" if project_id else "name"
    for project, _ in PROJECT_ROWS.read(
        FIND_SQL.format(column=column), [project_id or normalise(id_or_name, "NFC")]
    ):
        if project.is_visible_to(caller):
            return project
    raise errors.NotFound(
        f"There is no project {id_or_name[:200]!r}, or you may not see it."
    )


# Every request runs this query, and building a queryset takes longer than the query itself.
PROJECT_ROWS = RowReader(Project)
FIND_SQL = f"SELECT {PROJECT_ROWS.columns} FROM projects_project WHERE {{column}} = %s"


def find_id(id_or_name: str) -> uuid.UUID | None:
    """Return the id of a project, even of one that is deleted or hidden from the caller."""
    if project_id := parse_id(id_or_name):
        return project_id
    rows = Project.objects.filter(name=normalise(id_or_name, "NFC"))
    return rows.values_list("pk", flat=True).first()


def parse_id(text: str) -> uuid.UUID | None:
    try:
        return uuid.UUID(text)
    except ValueError:
        return None
