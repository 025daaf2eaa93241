"""Delete the runs and the tools of a deleted project."""

from __future__ import annotations

import uuid
from typing import Any

from django.db.models import QuerySet

from agents.models import AgentRun, AgentTool
from jobs.runner import JobRun
from projects import deletion


@deletion.register
def delete_agents(project_id: uuid.UUID, run: JobRun) -> None:
    """Delete every row of a project's agents, in batches."""
    for model in (AgentRun, AgentTool):
        rows: QuerySet[Any] = model._base_manager.filter(project_id=project_id)
        deletion.delete_rows(rows, run)
