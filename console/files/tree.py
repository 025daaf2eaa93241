"""What lies in one directory of a project's files, and how much is known of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

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

MOST = 500  # children shown of a directory


@dataclass(frozen=True)
class Child:
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
    children: list[Child]
    is_cut: bool

    @property
    def ancestors(self) -> list[tuple[str, str, str]]:
        """(name, path, path of what holds it) of each directory on the way here."""
        names = [f"{name}/" for name in self.path.split("/")[:-1]]
        paths = ["".join(names[:depth]) for depth in range(len(names) + 1)]
        return list(zip(names, paths[1:], paths, strict=False))


def directory(project: Project, path: str, caller: Caller) -> Directory:
    """The directory of that path; "" is the root, every other ends in a slash."""
    caller.require(Role.VIEWER, project.pk)
    rows = _children(project, path, caller)
    links = _links(project, path, caller)
    if len(rows) > MOST:
        # Only then: the planner takes it for a much narrower condition than it is.
        links = links.filter(name__in=[row["name"] for row in rows[:MOST]])
    known = {row["name"]: row for row in _counted(links)}
    children = [
        Child(
            row["name"],
            path + row["name"],
            row["is_directory"],
            row["files"],
            known.get(row["name"], {}).get("memories", 0),
            known.get(row["name"], {}).get("suspects", 0),
        )
        for row in rows[:MOST]
    ]
    return Directory(path, children, is_cut=len(rows) > MOST)


def _children(project: Project, path: str, caller: Caller) -> list[dict[str, Any]]:
    """Directories first, each by name; one more than are shown."""
    files = _below(File.objects.visible_to(caller), project, path, "")
    is_directory = ExpressionWrapper(Q(name__endswith="/"), output_field=BooleanField())
    counted = (
        files.annotate(is_directory=is_directory)
        .order_by()
        .values("name", "is_directory")
        .annotate(files=Count("pk"))
        .order_by("-is_directory", "name")
    )
    return list(counted[: MOST + 1])


def _links(project: Project, path: str, caller: Caller) -> Any:
    seen = Memory.objects.visible_to(caller).filter(project=project).current()
    return _below(MemoryFile.objects.filter(memory__in=seen), project, path, "file__")


def _counted(links: Any) -> Any:
    """What each child has of current memories."""
    return (
        links.order_by()
        .values("name")
        .annotate(
            memories=Count("memory", distinct=True),
            suspects=Count("memory", distinct=True, filter=~Q(suspect_since=None)),
        )
    )


def _below(rows: Any, project: Project, path: str, prefix: str) -> Any:
    """Rows whose file lies below the path, with the `name` of the child it is in."""
    column = f"{prefix}file_path"
    rest = Substr(column, len(path) + 1)
    end = Coalesce(NullIf(StrIndex(rest, Value("/")), Value(0)), Length(rest))
    return rows.filter(
        **{f"{prefix}project": project, f"{column}__startswith": path}
    ).annotate(name=Left(rest, end))
