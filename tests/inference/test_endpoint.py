from __future__ import annotations

import pytest

from inference.endpoint import retry_after


class TestRetryAfter:
    @pytest.mark.parametrize(
        ("header", "seconds"),
        [
            (None, None),
            ("", None),
            ("30", 30.0),
            ("0.5", 0.5),
            ("-3", 0.0),
            ("86400", 3600.0),
            ("nan", None),
            ("soon", None),
            ("Wed, 21 Oct 2015 07:28:00 GMT", 0.0),
        ],
    )
    def test_it_is_read_from_seconds_or_a_date(self, header, seconds):
        assert retry_after(header) == seconds
