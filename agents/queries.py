"""QuerySets of the agent's runs and tools."""

from __future__ import annotations

from typing import Any, Self

from django.db import models

from common.caller import Caller
from conversations.queries import OwnedQuerySet
from projects.models import Project


class AgentRunQuerySet(OwnedQuerySet):
    """Runs have a user and an agent, and are visible like sessions."""


class ProjectRowsQuerySet(models.QuerySet[Any]):
    """Rows that every member of a project may read."""

    def visible_to(self, caller: Caller, project: Project | None = None) -> Self:
        """Return the rows of the projects that the caller may read."""
        rows = self.filter(project__in=Project.objects.visible_to(caller))
        return rows if project is None else rows.filter(project=project)
