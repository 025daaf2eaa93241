"""Bounds of time in a request: a moment, or a day, which counts whole."""

from __future__ import annotations

import re
from datetime import date, datetime, time
from typing import Any

from rest_framework import serializers

# A query string turns the plus sign of an offset into a space.
_LOST_PLUS = re.compile(r"(?<=\d:\d\d)(\S{0,20}) (?=\d\d:?\d\d$)")


class LowerBound(serializers.DateTimeField):
    """A moment to count from; a day counts from its first moment."""

    of_day = time.min

    def to_internal_value(self, value: Any) -> datetime:
        if isinstance(value, str):
            value = self._moment(_LOST_PLUS.sub(r"\1+", value.strip()))
        return super().to_internal_value(value)

    def _moment(self, value: str) -> str | datetime:
        try:
            day = date.fromisoformat(value)
        except ValueError:
            return value
        return datetime.combine(day, self.of_day)


class UpperBound(LowerBound):
    """A moment to count to; a day counts to its last moment."""

    of_day = time.max
