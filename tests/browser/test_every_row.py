"""The page, form and history of a row of every model, checked like test_every_page.py."""

from __future__ import annotations

import pytest

from tests.browser.page_faults import look_at

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.xdist_group("browser"),
    pytest.mark.timeout(400),
]


def test_it_is_readable_and_reachable_whatever_the_text(
    hostile_rows,
    watched_page,
):
    look_at(watched_page, hostile_rows["rows"])
