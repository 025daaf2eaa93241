"""Every page for people in Chromium: readable, within the window, reachable by keyboard.

Of the rows' own pages tells test_every_row.py: a file is what one worker runs.
"""

from __future__ import annotations

import pytest

from tests.browser import routes
from tests.browser.everything import (  # noqa: F401 -- fixtures
    a_memory,
    an_entry,
    deltas,
    everything,
    watched,
    world,
)
from tests.browser.looking import look_at

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.xdist_group("browser"),
    pytest.mark.timeout(400),
]


def test_every_route_is_visited_or_known_to_be_no_page(everything):  # noqa: F811
    visited = {visit.route for visits in everything.values() for visit in visits}
    nowhere = {*routes.NO_PAGES, *routes.given_to_nobody()}

    assert routes.routes() == visited | nowhere
    assert not visited & nowhere


@pytest.mark.parametrize("part", ["console", "lists", "beside"])
def test_it_is_readable_and_reachable_whatever_the_text(
    everything,  # noqa: F811
    watched,  # noqa: F811
    part,
):
    look_at(watched, everything[part])


def test_those_before_the_login_too(everything, open_page):  # noqa: F811
    look_at(open_page(), everything["before"])
