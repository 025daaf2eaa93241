"""Alert people when proposals wait longer than the project's limit.

An alarm is raised once. The alarm can be raised again after a time in which no proposal
was overdue.
"""

from __future__ import annotations

import smtplib
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.core.mail import send_mail
from django.db.models import Q
from django.utils import timezone
from prometheus_client import Counter

from audit import trail
from common import webhooks
from common.caller import SYSTEM
from common.db import write
from common.text.quote import json_string
from jobs import errors, queue
from jobs.runner import JobRun, handler
from playbook.history.revision import lock_playbook
from playbook.models import PlaybookDelta
from playbook.queries import DeltaQuerySet
from projects.models import Project

KIND = "review_alarm"
ALARMS = Counter(
    "memory_review_alarms",
    "Alarms about proposals that wait too long, by the outcome of the message.",
    ["channel", "outcome"],  # sent | failed
)


@dataclass(frozen=True)
class OverdueReview:
    """The waiting proposals of a project.

    The oldest proposal is overdue.
    """

    project: Project
    waiting: int
    oldest_at: datetime
    limit_hours: int

    @property
    def subject(self) -> str:
        return f"Proposals wait in {json_string(self.project.name)}"

    @property
    def text(self) -> str:
        hours = (timezone.now() - self.oldest_at) // timedelta(hours=1)
        name = json_string(self.project.name)
        return (
            f"Proposals that wait for a decision in {name}: {self.waiting:,}, "
            f"the oldest for {hours:,} hours. The limit is {self.limit_hours:,}."
        )

    @property
    def url(self) -> str:
        """The address of the inbox.

        The address is empty without the setting PUBLIC_URL.
        """
        base = settings.PUBLIC_URL.rstrip("/")
        return f"{base}/admin/?project={self.project.pk}" if base else ""

    @property
    def body(self) -> dict[str, Any]:
        return {
            "event": "review_overdue",
            "text": self.text,
            "project": self.project.name,
            "project_id": str(self.project.pk),
            "waiting": self.waiting,
            "oldest_at": self.oldest_at.isoformat(),
            "limit_hours": self.limit_hours,
            "url": self.url,
        }


def watch() -> None:
    """Raise the alarms that are due, and clear the alarms whose cause is gone."""
    has_limit = Q(settings__review__has_key="alarm_hours")
    is_raised = Q(playbook__alarmed_at__isnull=False)
    for project in Project.objects.live().filter(has_limit | is_raised):
        if channels(project) and overdue_deltas(project).exists():
            raise_alarm(project)
        else:
            clear_alarm(project)


def channels(project: Project) -> list[str]:
    review = project.options.review
    return [name for name in CHANNELS if getattr(review, name)]


def overdue_deltas(project: Project) -> DeltaQuerySet:
    rows: DeltaQuerySet = PlaybookDelta.objects.pending().filter(project=project)
    limit = project.options.review.alarm_hours
    if limit is None:
        return rows.none()
    return rows.filter(created_at__lt=timezone.now() - timedelta(hours=limit))


@write
def raise_alarm(project: Project) -> None:
    """Enqueue a message to each channel of the project.

    Nothing is enqueued if the alarm is already raised.
    """
    playbook = lock_playbook(project)
    if playbook.alarmed_at is not None:
        return
    playbook.alarmed_at = timezone.now()
    playbook.save(update_fields=["alarmed_at"])
    for channel in channels(project):
        queue.enqueue(KIND, project_id=project.pk, args={"channel": channel})
    trail.record(
        SYSTEM,
        "review.alarm",
        project_id=project.pk,
        object_type="project",
        object_id=project.pk,
        channels=channels(project),
    )


@write
def clear_alarm(project: Project) -> None:
    playbook = lock_playbook(project)
    if playbook.alarmed_at is not None:
        playbook.alarmed_at = None
        playbook.save(update_fields=["alarmed_at"])


@handler(KIND)
def send_message(run: JobRun) -> dict[str, Any]:
    """Send one message.

    Nothing is sent if all overdue proposals are decided by now.
    """
    channel, project_id = str(run.job.args["channel"]), run.job.project_id
    live = Project.objects.live()
    project = live.filter(pk=project_id).first() if project_id else None
    report = find_overdue(project) if project else None
    if report is None or channel not in channels(report.project):
        return {"sent": False}
    try:
        CHANNELS[channel](report)
    except Exception:
        ALARMS.labels(channel, "failed").inc()
        raise
    ALARMS.labels(channel, "sent").inc()
    return {"sent": True, "waiting": report.waiting}


def find_overdue(project: Project) -> OverdueReview | None:
    """Return the overdue proposals of a project, or None if no proposal is overdue."""
    limit = project.options.review.alarm_hours
    oldest = overdue_deltas(project).order_by("created_at").first()
    if limit is None or oldest is None:
        return None
    waiting = PlaybookDelta.objects.pending().filter(project=project).count()
    return OverdueReview(project, waiting, oldest.created_at, limit)


def by_webhook(report: OverdueReview) -> None:
    try:
        webhooks.post(report.project.options.review.webhook_url, report.body)
    except webhooks.WebhookRefused as error:
        raise errors.Permanent(str(error)) from error
    except webhooks.WebhookFailed as error:
        raise errors.Later(str(error)) from error


def by_email(report: OverdueReview) -> None:
    if not settings.EMAIL_URL:
        raise errors.Permanent("EMAIL_URL is not set: there is no mail server.")
    try:
        send_mail(
            report.subject,
            f"{report.text}\n\n{report.url}".strip(),
            None,
            [report.project.options.review.email],
        )
    except (smtplib.SMTPException, OSError) as error:
        # The text of the error can name the recipient, and many people read jobs.
        raise errors.Later(f"The mail server: {type(error).__name__}") from error


# The key of each channel is the setting that holds the channel's address.
CHANNELS: dict[str, Callable[[OverdueReview], None]] = {
    "webhook_url": by_webhook,
    "email": by_email,
}
