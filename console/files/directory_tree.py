"""List a directory of a project's files. Each child has its number of memories."""

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

MAX_CHILDREN = 500  # children that the page of a directory lists


@dataclass(frozen=True)
class DirectoryChild:
    """A child is a file or a directory; a directory has the sums of all files below it."""

    name: str  # the name of a directory ends in a slash
    path: str
    is_directory: bool
    files: int
    memories: int = 0
    suspect: int = 0  # memories that were written before their file changed


@dataclass(frozen=True)
class Directory:
    path: str
    children: list[DirectoryChild]
    is_cut: bool

    @property
    def ancestors(self) -> list[tuple[str, str, str]]:
        """Return (name, path, parent's path) for each directory on the path, root first."""
        names = [f"{name}/" for name in self.path.split("/")[:-1]]
        paths = ["".join(names[:depth]) for depth in range(len(names) + 1)]
        return list(zip(names, paths[1:], paths, strict=False))


def list_directory(project: Project, path: str, caller: Caller) -> Directory:
    """List the directory at a path.

    The path of the root is "". Every other path ends in a slash.
    """
    caller.require(Role.VIEWER, project.pk)
    files = _files_below(File.objects.visible_to(caller), project, path)
    rows = _child_rows(files)
    if len(rows) > MAX_CHILDREN:
        files = files.filter(name__in=[row["name"] for row in rows[:MAX_CHILDREN]])
    counts = _count_memories(
        files, Memory.objects.visible_to(caller).filter(project=project)
    )
    children = [
        DirectoryChild(
            row["name"],
            path + row["name"],
            row["is_directory"],
            row["files"],
            *counts.get(row["name"], (0, 0)),
        )
        for row in rows[:MAX_CHILDREN]
    ]
    return Directory(path, children, is_cut=len(rows) > MAX_CHILDREN)


def _child_rows(files: Any) -> list[dict[str, Any]]:
    """Return the directories by name, then the files by name.

    Return at most one row more than the page lists. The extra row shows that the
    directory has more children than that.
    """
    is_directory = ExpressionWrapper(Q(name__endswith="/"), output_field=BooleanField())
    children = (
        files.annotate(is_directory=is_directory)
        .order_by()
        .values("name", "is_directory")
        .annotate(files=Count("pk"))
        .order_by("-is_directory", "name")
    )
    return list(children[: MAX_CHILDREN + 1])


# A child counts a memory once, even if the memory is linked to several files of the
# child. The SQL compares numbers of children, because comparing the name for each link
# takes longer than the rest of the statement.
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
    """Return a dict of the name of each child and its two counts.

    The first count is the number of current memories. The second count is the number of
    suspect memories among them.
    """
    current = memories.current().order_by().values("pk").query
    try:
        chosen_files = files.order_by().values("id", "name").query.sql_with_params()
        current_memories = current.sql_with_params()
    except EmptyResultSet:
        return {}
    links = MemoryFile._meta.db_table
    statement = COUNT_SQL.format(
        files=chosen_files[0], memories=current_memories[0], links=links
    )
    with connections[files.db].cursor() as cursor:
        cursor.execute(statement, [*chosen_files[1], *current_memories[1]])
        return {name: (count, suspect) for name, count, suspect in cursor}


def _files_below(files: Any, project: Project, path: str) -> Any:
    """Return the files below a path.

    The `name` of each row is the name of the child that contains the file.
    """
    rest = Substr("file_path", len(path) + 1)
    end = Coalesce(NullIf(StrIndex(rest, Value("/")), Value(0)), Length(rest))
    below = files.filter(project=project, file_path__startswith=path)
    return below.annotate(name=Left(rest, end))
