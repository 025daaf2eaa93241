"""The schedule of beat.

The schedule shows the heartbeats of beat's tasks, and of jobs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from celery import current_app
from django.utils import timezone

from jobs.models import Heartbeat
from jobs.tasks import SCHEDULE_PREFIX

JOB_PREFIX = "job:"  # the name of a job kind's heartbeat begins with this prefix
# A task may have to wait for other tasks. So the task is late only after this many
# periods.
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
    """Return a dict of the name of each heartbeat and its time.

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
    """Return each job kind with the time of its last success; the latest is first."""
    kinds = [
        (name.removeprefix(JOB_PREFIX), last)
        for name, last in at.items()
        if name.startswith(JOB_PREFIX)
    ]
    return sorted(kinds, key=lambda kind: kind[1], reverse=True)
