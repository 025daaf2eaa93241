"""Values that no harness writes: none is fatal, and none is stored that cannot be read."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from django.utils import timezone

from conversations.transcripts.fields import moment_of, moment_of_number


class TestTimes:
    @pytest.mark.parametrize(
        "text",
        [
            "9999-12-31T23:59:59-14:00",
            "0001-01-01T00:00:00+14:00",
            "1969-12-31T23:59:59Z",
            "2999-01-01T00:00:00Z",
            "2026-01-05T13:00:00",
        ],
    )
    def test_one_that_no_clock_tells_is_none(self, text):
        assert moment_of({"timestamp": text}) is None

    @pytest.mark.parametrize("number", [-1, 10**11, 10**400, 1e300, True, "1", None])
    def test_a_number_that_no_clock_tells_is_none(self, number):
        assert moment_of_number(number) is None

    def test_one_with_a_zone_is_the_same_moment(self):
        moment = datetime(2026, 1, 5, 12, tzinfo=UTC)

        assert moment_of({"timestamp": "2026-01-05T13:00:00+01:00"}) == moment
        assert moment_of_number(moment.timestamp()) == moment

    def test_a_clock_may_be_a_day_ahead(self):
        near = timezone.now() + timedelta(hours=23)

        assert moment_of({"timestamp": near.isoformat()}) == near
        assert moment_of({"timestamp": (near + timedelta(hours=2)).isoformat()}) is None
