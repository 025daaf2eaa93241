"""The schedule of beat, with the heartbeats of its tasks and of jobs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from celery import current_app
from django.utils import timezone

from jobs.models import Heartbeat
from jobs.tasks import SCHEDULE_PREFIX

JOB_PREFIX = "job:"  # begins the name of a job kind's heartbeat
# A task may wait for others, so it is late only after some periods.
LATE_AFTER_PERIODS = 3
LATE = "late"
UNITS = (("day", 86_400), ("hour", 3_600), ("minute", 60), ("second", 1))


@dataclass(frozen=True)
class Schedule:
    name: str
    task: str
    every: timedelta
    last: datetime | None

    @property
    def state(self) -> str:
        if self.last is None:
            return "not run yet"
        due = self.last + self.every * LATE_AFTER_PERIODS
        return LATE if due < timezone.now() else "in time"

    @property
    def period(self) -> str:
        seconds = self.every.total_seconds()
        unit, size = next(one for one in UNITS if seconds % one[1] == 0)
        count = int(seconds // size)
        return f"every {unit}" if count == 1 else f"every {count} {unit}s"


def heartbeats() -> Mapping[str, datetime]:
    """Return a dict of the name and time of every heartbeat.

    Only owners of the installation may see the heartbeats.
    """
    return dict(Heartbeat.objects.values_list("name", "at"))


def list_schedules(at: Mapping[str, datetime]) -> list[Schedule]:
    schedule: Mapping[str, Any] = current_app.conf.beat_schedule
    return [
        Schedule(
            name,
            entry["task"],
            timedelta(seconds=entry["schedule"]),
            at.get(f"{SCHEDULE_PREFIX}{entry['task']}"),
        )
        for name, entry in sorted(schedule.items())
    ]


def last_successes(at: Mapping[str, datetime]) -> list[tuple[str, datetime]]:
    """Return the job kinds with the time of their last success, latest first."""
    kinds = [
        (name.removeprefix(JOB_PREFIX), last)
        for name, last in at.items()
        if name.startswith(JOB_PREFIX)
    ]
    return sorted(kinds, key=lambda kind: kind[1], reverse=True)
