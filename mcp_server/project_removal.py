"""Delete what was counted and pushed in a deleted project."""

from __future__ import annotations

import uuid

from jobs.runner import JobRun
from mcp_server.models import HookCount, Push
from projects import deletion


@deletion.register
def remove(project_id: uuid.UUID, run: JobRun) -> None:
    deletion.delete_rows(Push.objects.filter(project_id=project_id), run)
    deletion.delete_rows(HookCount.objects.filter(project_id=project_id), run)
