"""Weeks of ISO 8601, in the reader's time zone."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta

from django.utils import timezone

_LABEL = re.compile(r"(2\d{3})-W(\d{2})", re.ASCII)


class InvalidWeek(ValueError):
    pass


@dataclass(frozen=True, order=True)
class Week:
    monday: date

    def __str__(self) -> str:
        year, number, _ = self.monday.isocalendar()
        return f"{year}-W{number:02d}"

    @property
    def sunday(self) -> date:
        return self.monday + timedelta(days=6)

    @property
    def start(self) -> datetime:
        return timezone.make_aware(datetime.combine(self.monday, time.min))

    @property
    def end(self) -> datetime:
        """Return the first moment after the end of the week."""
        return self.later(1).start

    def later(self, weeks: int) -> Week:
        return Week(self.monday + timedelta(weeks=weeks))


def week_of(moment: datetime) -> Week:
    day = timezone.localtime(moment).date()
    return Week(day - timedelta(days=day.weekday()))


def parse_label(label: str) -> Week:
    """Return the week of a label such as `2026-W47`."""
    match = _LABEL.fullmatch(label)
    if match is None:
        raise InvalidWeek
    try:
        return Week(date.fromisocalendar(int(match[1]), int(match[2]), 1))
    except ValueError:
        raise InvalidWeek from None


def last_weeks(count: int) -> list[Week]:
    """Return this week and the weeks before it, `count` weeks in all, oldest first."""
    now = week_of(timezone.now())
    return [now.later(-back) for back in reversed(range(count))]
