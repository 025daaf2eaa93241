"""QuerySets of sessions, messages and summaries.

They select what a caller may see, and what the context of a session holds.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Self, TypeVar

from django.apps import apps
from django.db import models

from common.caller import Caller
from projects.models import Project
from search.columns import SEARCH_COLUMNS

MAX_PAGE = 1_000  # rows that are read at a time

Rows = TypeVar("Rows", bound=models.QuerySet[Any])


def read_pages(
    rows: models.QuerySet[Any], name: str, size: int, *, newest_first: bool = False
) -> Iterator[list[Any]]:
    """Yield rows in pages by a column of numbers that no two rows share.

    No page is read before it is asked for. Each page of newest rows is twice as large as
    the page before, up to MAX_PAGE, because most readers stop early.
    """
    ordered = rows.order_by(f"-{name}" if newest_first else name)
    beyond = f"{name}__lt" if newest_first else f"{name}__gt"
    page = list(ordered[:size])
    while page:
        yield page
        if len(page) < size:
            return
        last = getattr(page[-1], name)
        if newest_first:
            size = max(size, min(size * 2, MAX_PAGE))
        page = list(ordered.filter(**{beyond: last})[:size])


class OwnedQuerySet(models.QuerySet[Any]):
    """Rows of projects, which have a user and an agent."""

    def visible_to(self, caller: Caller, project: Project | None = None) -> Self:
        """Return the rows that the caller may read.

        A key that is bound to a user or to an agent reads only the rows of that user or
        agent. If `project` is given, only the rows of this project are returned.
        """
        return _of_projects(self, caller, project).of_binding(caller)

    def of_binding(self, caller: Caller) -> Self:
        rows = self
        if caller.user_id:
            rows = rows.filter(user_id=caller.user_id)
        if caller.agent_id:
            rows = rows.filter(agent_id=caller.agent_id)
        return rows


class SwitchQuerySet(models.QuerySet[Any]):
    """Rows of projects that have a user and no agent."""

    def visible_to(self, caller: Caller, project: Project | None = None) -> Self:
        """Return the rows that the caller may read; a bound key reads its user's own."""
        rows = _of_projects(self, caller, project)
        return rows.filter(user_id=caller.user_id) if caller.user_id else rows


class InSessionQuerySet(models.QuerySet[Any]):
    """Rows of sessions that keyword and semantic search find."""

    def visible_to(self, caller: Caller, project: Project | None = None) -> Self:
        """Return the rows of the sessions that the caller may read.

        If `project` is given, only the rows of this project are returned.
        """
        rows = _of_projects(self, caller, project)
        if not caller.is_bound:
            return rows
        own = apps.get_model("conversations", "Session").objects.of_binding(caller)
        return rows.filter(session__in=own.values("pk"))

    def light(self) -> Self:
        """Leave out the wide columns that only search reads."""
        return self.defer(*SEARCH_COLUMNS)

    def sum_tokens(self) -> int:
        return self.aggregate(tokens=models.Sum("tokens"))["tokens"] or 0


class MessageQuerySet(InSessionQuerySet):
    def of_project(self, caller: Caller, project: Project) -> Self:
        """Return the rows of a project that the caller may read, whatever its key is bound to."""
        return _of_projects(self, caller, project)

    def visible(self) -> Self:
        """Leave out the messages that an undo hid."""
        return self.filter(hidden_at=None)

    def without_leaf(self) -> Self:
        """Return the messages that stand in the context themselves."""
        return self.filter(hidden_at=None, leaf=None)


class SummaryQuerySet(InSessionQuerySet):
    def without_parent(self) -> Self:
        """Return the summaries that stand in the context themselves."""
        return self.filter(parent=None)


def _of_projects(rows: Rows, caller: Caller, project: Project | None) -> Rows:
    """Return the rows of the caller's projects, or of one of them."""
    if project is None:
        projects = Project.objects.visible_to(caller).values("pk")
        return rows.filter(project_id__in=projects)
    if project.is_visible_to(caller):
        return rows.filter(project_id=project.pk)
    return rows.none()
