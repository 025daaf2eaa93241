"""The end of a deleted project's digest configurations."""

from __future__ import annotations

import uuid

from context.models import DigestConfig
from jobs.running import Run
from projects import deletion


@deletion.register
def remove(project_id: uuid.UUID, run: Run) -> None:
    """Delete what the project and its agents set: a row for each agent."""
    DigestConfig.objects.filter(project_id=project_id).delete()
