"""The end of a deleted project's digest configurations."""

from __future__ import annotations

import uuid

from context.models import DigestConfig
from jobs.runner import JobRun
from projects import deletion


@deletion.register
def remove(project_id: uuid.UUID, run: JobRun) -> None:
    """Delete what the project and its agents set: a row for each agent."""
    DigestConfig.objects.filter(project_id=project_id).delete()
