"""One page of each template in Chromium, once; test_every_page.py looks at all of them."""

from __future__ import annotations

import pytest

from tests.browser.page_faults import look_at

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.xdist_group("browser"),
    pytest.mark.timeout(200),
]
NAMES = {
    "console:home",
    "admin:memories_memory_changelist",
    "admin:memories_memory_change",
    "admin:memories_memory_history",
    "console:inbox pending",
    "console:inbox_card",
    "console:session context",
    "console:files inside",
    "console:search hits",
    "console:playbook differences",
    "console:agent_run",
}
ONE_WAY = [(1280, "light")]


def test_one_of_each_template_is_readable(hostile_rows, watched_page, open_page):
    every = [*hostile_rows["console"], *hostile_rows["lists"], *hostile_rows["rows"]]
    visits = {visit.name: visit for visit in every if visit.name in NAMES}
    assert visits.keys() == NAMES

    look_at(open_page(), hostile_rows["before"], ONE_WAY)
    look_at(watched_page, visits.values(), ONE_WAY)
