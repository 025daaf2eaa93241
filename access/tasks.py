from __future__ import annotations

from datetime import timedelta

from axes.models import AccessLog
from celery import shared_task
from django.conf import settings
from django.contrib.sessions.models import Session
from django.utils import timezone

from access.models import IdempotencyKey
from common.db import delete_in_batches
from inference.models import ModelCall
from jobs.models import Heartbeat, Job
from projects import deletion


@shared_task
def housekeeping() -> None:
    """Delete expired rows, and enqueue the deletion of projects after their grace period."""
    now = timezone.now()
    answers_before = now - timedelta(days=settings.IDEMPOTENCY_DAYS)
    delete_in_batches(IdempotencyKey.objects.filter(created_at__lt=answers_before))
    jobs_before = now - timedelta(days=settings.JOB_RETENTION_DAYS)
    ended = [Job.State.DONE, Job.State.CANCELLED, Job.State.DISCARDED]
    delete_in_batches(Job.objects.filter(state__in=ended, finished_at__lt=jobs_before))
    calls_before = now - timedelta(days=settings.MODEL_CALL_DAYS)
    delete_in_batches(ModelCall.objects.filter(at__lt=calls_before))
    sign_ins_before = now - timedelta(days=settings.SIGN_IN_DAYS)
    delete_in_batches(AccessLog.objects.filter(attempt_time__lt=sign_ins_before))
    delete_in_batches(Session.objects.filter(expire_date__lt=now))
    deletion.enqueue_due()
    Heartbeat.beat("housekeeping")
