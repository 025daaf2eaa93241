"""Tell somebody when proposals have waited longer than the project's limit.

Told once when the limit is passed, and again only after nothing was too old meanwhile.
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
from jobs import errors, queue
from jobs.runner import JobRun, handler
from playbook.history.revision import lock_playbook
from playbook.models import PlaybookDelta
from playbook.queries import DeltaQuerySet
from projects.models import Project

KIND = "review_alarm"
ALARMS = Counter(
    "memory_review_alarms",
    "Alarms about proposals that wait too long, by what became of the message.",
    ["channel", "outcome"],  # sent | failed
)


@dataclass(frozen=True)
class OverdueReview:
    """Proposals of a project, of which the oldest has waited longer than the limit."""

    project: Project
    waiting: int
    oldest_at: datetime
    limit_hours: int

    @property
    def text(self) -> str:
        hours = (timezone.now() - self.oldest_at) // timedelta(hours=1)
        name = " ".join(self.project.name.split())
        return (
            f"Proposals that wait for a decision in {name}: {self.waiting:,}, "
            f"the oldest for {hours:,} hours. The limit is {self.limit_hours:,}."
        )

    @property
    def url(self) -> str:
        """Where they are decided; empty when nobody said where the service is."""
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
    """Raise the alarms that are due, and clear those that have no reason any more."""
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
    """Have the project's channels told, unless they were told of this already."""
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
    """Send one message; what was decided before it went out needs none."""
    channel, project_id = str(run.job.args["channel"]), run.job.project_id
    live = Project.objects.live()
    project = live.filter(pk=project_id).first() if project_id else None
    found = find_overdue(project) if project else None
    if found is None or channel not in channels(found.project):
        return {"sent": False}
    try:
        CHANNELS[channel](found)
    except Exception:
        ALARMS.labels(channel, "failed").inc()
        raise
    ALARMS.labels(channel, "sent").inc()
    return {"sent": True, "waiting": found.waiting}


def find_overdue(project: Project) -> OverdueReview | None:
    """What waits too long in the project, if anything does."""
    limit = project.options.review.alarm_hours
    oldest = overdue_deltas(project).order_by("created_at").first()
    if limit is None or oldest is None:
        return None
    waiting = PlaybookDelta.objects.pending().filter(project=project).count()
    return OverdueReview(project, waiting, oldest.created_at, limit)


def by_webhook(found: OverdueReview) -> None:
    try:
        webhooks.post(found.project.options.review.webhook_url, found.body)
    except webhooks.WebhookRefused as error:
        raise errors.Permanent(str(error)) from error
    except webhooks.WebhookFailed as error:
        raise errors.Later(str(error)) from error


def by_email(found: OverdueReview) -> None:
    if not settings.EMAIL_URL:
        raise errors.Permanent("EMAIL_URL is not set: there is no mail server.")
    name = " ".join(found.project.name.split())
    try:
        send_mail(
            f"Proposals wait in {name}",
            f"{found.text}\n\n{found.url}".strip(),
            None,
            [found.project.options.review.email],
        )
    except (smtplib.SMTPException, OSError) as error:
        raise errors.Later(f"The mail server: {error}") from error


# By the setting that holds the address.
CHANNELS: dict[str, Callable[[OverdueReview], None]] = {
    "webhook_url": by_webhook,
    "email": by_email,
}
