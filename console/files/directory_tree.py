"""What lies in one directory of a project's files, and how much is known of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.core.exceptions import EmptyResultSet
from django.db import connections
from django.db.models import BooleanField, Count, ExpressionWrapper, Q, Value
from django.db.models.functions import (
    Coalesce,
    Left,
    Length,
    NullIf,
    StrIndex,
    Substr,
)

from common.caller import Caller, Role
from memories.models import File, Memory, MemoryFile
from projects.models import Project

MAX_CHILDREN = 500  # children shown of a directory


@dataclass(frozen=True)
class DirectoryChild:
    """A file, or a directory with the sums of all that lies in it."""

    name: str  # a directory's ends in its slash
    path: str
    is_directory: bool
    files: int
    memories: int = 0
    suspect: int = 0  # of the memories: the file changed since


@dataclass(frozen=True)
class Directory:
    path: str
    children: list[DirectoryChild]
    is_cut: bool

    @property
    def ancestors(self) -> list[tuple[str, str, str]]:
        """(name, path, path of what holds it) of each directory on the way here."""
        names = [f"{name}/" for name in self.path.split("/")[:-1]]
        paths = ["".join(names[:depth]) for depth in range(len(names) + 1)]
        return list(zip(names, paths[1:], paths, strict=False))


def list_directory(project: Project, path: str, caller: Caller) -> Directory:
    """The directory of that path; "" is the root, every other ends in a slash."""
    caller.require(Role.VIEWER, project.pk)
    files = _files_below(File.objects.visible_to(caller), project, path)
    rows = _child_rows(files)
    if len(rows) > MAX_CHILDREN:
        files = files.filter(name__in=[row["name"] for row in rows[:MAX_CHILDREN]])
    known = _count_memories(
        files, Memory.objects.visible_to(caller).filter(project=project)
    )
    children = [
        DirectoryChild(
            row["name"],
            path + row["name"],
            row["is_directory"],
            row["files"],
            *known.get(row["name"], (0, 0)),
        )
        for row in rows[:MAX_CHILDREN]
    ]
    return Directory(path, children, is_cut=len(rows) > MAX_CHILDREN)


def _child_rows(files: Any) -> list[dict[str, Any]]:
    """Directories first, each by name; one more than are shown."""
    is_directory = ExpressionWrapper(Q(name__endswith="/"), output_field=BooleanField())
    counted = (
        files.annotate(is_directory=is_directory)
        .order_by()
        .values("name", "is_directory")
        .annotate(files=Count("pk"))
        .order_by("-is_directory", "name")
    )
    return list(counted[: MAX_CHILDREN + 1])


# A memory counts once for a child, whichever of its files it speaks of. Children are
# numbered, as comparing their names for each link takes longer than all the rest.
COUNT_SQL = """
WITH file AS ({files}),
child AS (SELECT id, name, DENSE_RANK() OVER (ORDER BY name) AS number FROM file),
once AS (
    SELECT DISTINCT ON (memory_id, number) number, suspect_since
    FROM {links} JOIN child ON child.id = file_id
    WHERE memory_id IN ({memories})
    ORDER BY memory_id, number, suspect_since
),
counted AS (
    SELECT number, COUNT(*) AS memories, COUNT(suspect_since) AS suspect
    FROM once GROUP BY number
)
SELECT DISTINCT name, memories, suspect FROM counted JOIN child USING (number)
"""


def _count_memories(files: Any, memories: Any) -> dict[str, tuple[int, int]]:
    """Current memories of each child, and how many of them are suspect."""
    current = memories.current().order_by().values("pk").query
    try:
        chosen = files.order_by().values("id", "name").query.sql_with_params()
        known = current.sql_with_params()
    except EmptyResultSet:
        return {}
    links = MemoryFile._meta.db_table
    statement = COUNT_SQL.format(files=chosen[0], memories=known[0], links=links)
    with connections[files.db].cursor() as cursor:
        cursor.execute(statement, [*chosen[1], *known[1]])
        return {name: (count, suspect) for name, count, suspect in cursor}


def _files_below(files: Any, project: Project, path: str) -> Any:
    """Files below the path, with the `name` of the child that each one is in."""
    rest = Substr("file_path", len(path) + 1)
    end = Coalesce(NullIf(StrIndex(rest, Value("/")), Value(0)), Length(rest))
    below = files.filter(project=project, file_path__startswith=path)
    return below.annotate(name=Left(rest, end))
