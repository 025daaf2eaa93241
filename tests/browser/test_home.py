"""The home page and the weekly page in a browser."""

from __future__ import annotations

import pytest
from django.urls import reverse

from tests.browser.people import HOSTILE, signed_in
from tests.console.test_home_page import a_change, a_delta, a_run

pytestmark = [
    pytest.mark.slow,
    pytest.mark.django_db(transaction=True),
    pytest.mark.xdist_group("browser"),
]
DRAWN = """() => [...document.querySelectorAll("canvas.chart")].map(canvas => {
    const at = canvas.getContext("2d");
    return at.getImageData(0, 0, canvas.width, canvas.height).data.some(Boolean);
})"""


@pytest.fixture
def busy(project, alices):
    """Something to draw in every chart."""
    a_change(project, a_run(project), "add")
    a_delta(project, status="accepted", reviewer="alice")
    a_delta(project, content=HOSTILE)
    return project


def test_it_draws_every_chart_within_the_window(busy, open_page):
    page = signed_in(open_page(390, "dark"))
    page.open(reverse("admin:index"))

    assert page.page.evaluate(DRAWN) == [True] * 4
    assert page.width_beyond_the_window() <= 0
    page.page.locator("summary", has_text="As a table").first.press("Enter")
    page.page.wait_for_selector("th[scope=row]:visible")
    assert page.width_beyond_the_window() <= 0

    page.open(reverse("console:weekly"))
    assert page.width_beyond_the_window() <= 0
    assert page.complaints == []
    assert page.strangers == []


def test_without_scripts_the_tables_tell_the_numbers(busy, open_page):
    page = signed_in(open_page(scripts=False))

    assert not page.page.is_visible("canvas.chart")
    page.page.locator("summary", has_text="As a table").first.click()
    page.page.locator("th[scope=row]:visible").first.wait_for()
    page.page.click(".am-card:has-text('Waiting changes')")
    page.page.wait_for_selector(".in-card")
