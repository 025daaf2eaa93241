"""Every page for people in Chromium: readable, within the window, reachable by keyboard.

Of the rows' own pages tells test_every_row.py: a file is what one worker runs.
"""

from __future__ import annotations

import pytest

from tests.browser.page_faults import look_at

pytestmark = [
    pytest.mark.slow,
    pytest.mark.django_db(transaction=True),
    pytest.mark.xdist_group("browser"),
    pytest.mark.timeout(400),
]


@pytest.mark.parametrize("part", ["console", "lists", "beside"])
def test_it_is_readable_and_reachable_whatever_the_text(
    hostile_rows,
    watched_page,
    part,
):
    look_at(watched_page, hostile_rows[part])


def test_pages_before_the_login_are_readable_too(hostile_rows, open_page):
    look_at(open_page(), hostile_rows["before"])
