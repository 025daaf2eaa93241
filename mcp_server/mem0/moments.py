"""Read the times of mem0: ISO 8601, a date, or seconds since 1970."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from django.utils.dateparse import parse_date, parse_datetime


class BadMoment(ValueError):
    """Send a date (2026-01-31), a time (2026-01-31T12:00:00Z), or seconds since 1970."""

    def __str__(self) -> str:
        return str(self.__doc__)


def read_moment(value: Any) -> tuple[datetime, datetime | None]:
    """Read a moment, or the first moment of a day and that of the next day.

    A time without a zone is UTC. Raise BadMoment for what no calendar has, also if it is in
    the year 0 or 10000 only in UTC: such a moment would be stored and never read.
    """
    try:
        if isinstance(value, str) and (day := parse_date(value)):
            start = first_moment(day)
            return start, start + timedelta(days=1)
        if isinstance(value, str) and (moment := parse_datetime(value)):
            aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
            return aware.astimezone(UTC), None
        if isinstance(value, int | float) and not isinstance(value, bool):
            return datetime.fromtimestamp(value, UTC), None
    except (ValueError, OverflowError, OSError) as error:
        raise BadMoment from error
    raise BadMoment


def first_moment(day: date) -> datetime:
    return datetime.combine(day, time.min, UTC)


def last_moment(day: date) -> datetime:
    """Return when a memory expires that is kept through a day."""
    return datetime.combine(day, time.max, UTC)
