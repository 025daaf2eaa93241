from __future__ import annotations

from typing import Any

from django.db import models
from django.utils import timezone

from common.caller import Caller
from common.ids import uuid7


class JobQuerySet(models.QuerySet["Job"]):
    def visible_to(self, caller: Caller) -> JobQuerySet:
        """Return no jobs to a key bound to a user, because jobs are about a whole project."""
        if caller.user_id:
            return self.none()
        if caller.everywhere:
            return self
        return self.filter(project_id__in=caller.roles)

    def due(self) -> JobQuerySet:
        """Return waiting jobs that may run now, and running jobs with an expired lease."""
        now = timezone.now()
        return self.filter(
            models.Q(state=Job.State.WAITING, run_after__lte=now)
            | models.Q(state=Job.State.RUNNING, lease_until__lt=now)
        )

    def unfinished(self) -> JobQuerySet:
        return self.filter(state__in=[Job.State.WAITING, Job.State.RUNNING])


class Job(models.Model):
    """A unit of work: outbox, lease, progress and dead letter in one row."""

    class State(models.TextChoices):
        WAITING = "waiting"
        RUNNING = "running"
        DONE = "done"
        FAILED = "failed"
        CANCELLED = "cancelled"
        DISCARDED = "discarded"

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    kind = models.CharField(max_length=64)
    project_id = models.UUIDField(null=True)
    args = models.JSONField(default=dict)
    # While a job with this key waits, a second one is not inserted.
    key = models.CharField(max_length=200, blank=True)

    state = models.CharField(max_length=16, choices=State, default=State.WAITING)
    run_after = models.DateTimeField(default=timezone.now)
    attempts = models.PositiveIntegerField(default=0)
    lease_until = models.DateTimeField(null=True)
    done = models.PositiveIntegerField(default=0)
    total = models.PositiveIntegerField(null=True)
    cursor = models.JSONField(default=dict)
    result = models.JSONField(default=dict)
    error = models.TextField(blank=True)

    created_at = models.DateTimeField(auto_now_add=True)
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)

    objects = JobQuerySet.as_manager()

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["kind", "key"],
                condition=models.Q(state="waiting") & ~models.Q(key=""),
                name="job_one_waiting_per_key",
            ),
            models.CheckConstraint(
                condition=models.Q(
                    state__in=[
                        "waiting",
                        "running",
                        "done",
                        "failed",
                        "cancelled",
                        "discarded",
                    ]
                ),
                name="job_state_known",
            ),
        ]
        indexes = [
            models.Index(
                fields=["run_after"],
                condition=models.Q(state__in=["waiting", "running"]),
                name="job_unfinished",
            ),
            # Each health check counts these jobs.
            models.Index(
                fields=["id"],
                condition=models.Q(state="failed"),
                name="job_failed",
            ),
            models.Index(fields=["project_id", "-id"], name="job_project_newest"),
            models.Index(fields=["kind", "-finished_at"], name="job_kind_finished"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.state}"

    @property
    def progress(self) -> dict[str, Any]:
        return {"done": self.done, "total": self.total}


class Heartbeat(models.Model):
    """The last time at which a part of the service worked end to end."""

    WORKER = "worker"  # the heartbeat that every worker updates

    name = models.CharField(primary_key=True, max_length=64)
    at = models.DateTimeField()
    detail = models.JSONField(default=dict)

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return f"{self.name} {self.at:%Y-%m-%d %H:%M:%S}"

    @classmethod
    def beat(cls, name: str, **detail: Any) -> None:
        cls.objects.update_or_create(
            name=name, defaults={"at": timezone.now(), "detail": detail}
        )
