"""Delete the sessions of a deleted project."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from typing import Any

from django.db import transaction
from django.db.models import QuerySet

from common import append_only
from conversations.models import (
    AgentMemory,
    AgentMemoryChange,
    Message,
    MessageVector,
    Session,
    Summary,
    SummaryVector,
)
from jobs.runner import JobRun
from projects import deletion

BATCH = 500  # rows deleted in one transaction


@deletion.register
def delete_sessions(project_id: uuid.UUID, run: JobRun) -> None:
    """Delete every row of a project's sessions, in batches."""
    for rows in _rows(project_id):
        while ids := list(rows.order_by("pk").values_list("pk", flat=True)[:BATCH]):
            with transaction.atomic(), append_only.allow_changes():
                rows.filter(pk__in=ids).delete()
            run.step(run.job.done)
            run.yield_turn()


def _rows(project_id: uuid.UUID) -> Iterable[QuerySet[Any]]:
    """Yield the rows to delete; no remaining row refers to a deleted row."""
    for model in (
        MessageVector,
        Message,
        SummaryVector,
        Summary,
        Session,
        AgentMemory,
        AgentMemoryChange,
    ):
        rows: QuerySet[Any] = model._base_manager.filter(project_id=project_id)
        yield rows
