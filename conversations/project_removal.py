"""Delete the sessions of a deleted project."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from typing import Any

from django.db.models import QuerySet

from conversations.models import (
    AgentMemory,
    AgentMemoryChange,
    Invocation,
    MemorySwitch,
    Message,
    MessageVector,
    Session,
    Summary,
    SummaryVector,
    Transcript,
)
from jobs.runner import JobRun
from projects import deletion


@deletion.register
def delete_sessions(project_id: uuid.UUID, run: JobRun) -> None:
    """Delete every row of a project's sessions, in batches."""
    for rows in _rows(project_id):
        deletion.delete_rows(rows, run)


def _rows(project_id: uuid.UUID) -> Iterable[QuerySet[Any]]:
    """Yield the rows to delete; no remaining row refers to a deleted row."""
    for model in (
        MessageVector,
        Message,
        SummaryVector,
        Summary,
        Invocation,
        Transcript,
        Session,
        AgentMemory,
        AgentMemoryChange,
        MemorySwitch,
    ):
        rows: QuerySet[Any] = model._base_manager.filter(project_id=project_id)
        yield rows
