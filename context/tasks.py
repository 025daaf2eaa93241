"""Celery imports this module in a worker; its imports register the job handlers."""

from __future__ import annotations

from celery import shared_task

from context import config_removal
from context.card import correction_job
from jobs.models import Heartbeat

__all__ = ["config_removal", "propose_corrections"]


@shared_task
def propose_corrections() -> None:
    """Enqueue the search for wrong instructions in projects whose tasks read some."""
    correction_job.enqueue_due()
    Heartbeat.beat("instruction_corrections")
