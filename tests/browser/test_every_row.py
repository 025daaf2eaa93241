"""The page and form of a row of every model, checked like test_every_page.py.

Of histories and confirmations, which one template makes for all models, one of each kind.
"""

from __future__ import annotations

import pytest

from tests.browser import routes
from tests.browser.page_faults import look_at

pytestmark = [
    pytest.mark.slow,
    pytest.mark.django_db(transaction=True),
    pytest.mark.xdist_group("browser"),
    pytest.mark.timeout(400),
]


def test_it_is_readable_and_reachable_whatever_the_text(
    hostile_rows,
    watched_page,
):
    look_at(watched_page, list(routes.one_of_each(hostile_rows["rows"])))
