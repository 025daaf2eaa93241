"""Delete the digest configurations of a deleted project."""

from __future__ import annotations

import uuid

from context.models import DigestConfig
from jobs.runner import JobRun
from projects import deletion


@deletion.register
def remove(project_id: uuid.UUID, run: JobRun) -> None:
    """Delete the digest configurations of the project and of its agents."""
    DigestConfig.objects.filter(project_id=project_id).delete()
