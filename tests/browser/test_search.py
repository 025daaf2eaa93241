"""The search with explain, by keyboard and within the window."""

from __future__ import annotations

import pytest
from django.urls import reverse

from memories.store import write
from memories.store.drafts import Draft, FileRef
from tests.browser.people import HOSTILE, signed_in

pytestmark = [
    pytest.mark.slow,
    pytest.mark.django_db(transaction=True),
    pytest.mark.xdist_group("browser"),
]


@pytest.fixture
def more(project, alice, alices):
    """Create more memories, one of them hostile."""
    links = (FileRef("src/tides/feed.py"), FileRef(f"src/{HOSTILE[:800]}"))
    texts = [
        ("Ebb tide tables are late by an hour in winter", ()),
        (f"The tide {HOSTILE[:8_000]}", links),
    ]
    for text, found in texts:
        draft = Draft(content=text, memory_type="warning", tags=("tides",), files=found)
        write.store(project, draft, alice)


def test_it_searches_and_explains(more, alices, open_page):
    page = signed_in(open_page(390, "dark"))
    page.open(reverse("console:search"))

    page.page.fill("#se-query", "tide offset")
    page.page.press(".se-more summary", "Enter")
    page.page.press("#se-explain", "Space")
    page.page.fill("#se-tags", "tides")
    page.page.press("#se-tags", "Enter")
    page.page.wait_for_selector("text=Words searched for")
    assert "tags=tides" in page.page.url
    assert page.page.locator(".se-hits mark").count() > 1
    assert page.width_beyond_the_window() <= 0
    assert page.complaints == []
    assert page.strangers == []
