from __future__ import annotations

from datetime import timedelta
from typing import Any

from celery import shared_task
from django.conf import settings
from django.db.models import QuerySet
from django.utils import timezone

from access.models import IdempotencyKey
from inference.models import ModelCall
from jobs.models import Heartbeat, Job
from projects import deletion

BATCH = 5_000  # rows deleted in one statement


@shared_task
def housekeeping() -> None:
    """Remove what has served its time, and enqueue the end of deleted projects."""
    now = timezone.now()
    answers = now - timedelta(days=settings.IDEMPOTENCY_DAYS)
    remove(IdempotencyKey.objects.filter(created_at__lt=answers))
    finished = now - timedelta(days=settings.JOB_RETENTION_DAYS)
    ended = [Job.State.DONE, Job.State.CANCELLED, Job.State.DISCARDED]
    remove(Job.objects.filter(state__in=ended, finished_at__lt=finished))
    asked = now - timedelta(days=settings.MODEL_CALL_DAYS)
    remove(ModelCall.objects.filter(at__lt=asked))
    deletion.enqueue_due()
    Heartbeat.beat("housekeeping")


def remove(rows: QuerySet[Any]) -> None:
    """Delete in batches: one huge statement would hold its locks too long."""
    while True:
        batch = list(rows.order_by("pk").values_list("pk", flat=True)[:BATCH])
        if not batch:
            return
        rows.model._base_manager.filter(pk__in=batch).delete()
