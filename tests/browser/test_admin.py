from __future__ import annotations

from zoneinfo import ZoneInfo

import pytest
from django.urls import reverse
from django.utils import timezone

from tests.browser.people import signed_in

pytestmark = [
    pytest.mark.slow,
    pytest.mark.django_db(transaction=True),
    pytest.mark.xdist_group("browser"),
]


def test_it_leads_from_the_login_to_a_search_and_to_a_run(alices, open_page):
    page = signed_in(open_page())

    page.page.click("text=Memories >> nth=0")
    page.page.click(".am-actions a:has-text('Search')")
    page.page.fill("[name=query]", "tide offset")
    page.page.press("[name=query]", "Enter")
    page.page.wait_for_selector("mark")
    assert "local time" in page.page.inner_text("#content")

    page.open(reverse("admin:ace_acerun_changelist"))
    page.page.click("#result_list a:has-text('Load the tide table')")
    page.page.wait_for_selector("text=Found")
    assert "<script>" in page.page.inner_text("#content")
    assert page.page.title() != "taken"
    assert page.complaints == []
    assert page.strangers == []


def test_times_are_of_the_readers_zone(alices, open_page):
    page = signed_in(open_page(zone="Asia/Tokyo"))

    shown = timezone.localtime(alices.created_at, ZoneInfo("Asia/Tokyo"))
    page.open(reverse("admin:memories_memory_changelist"))

    content = page.page.inner_text("#content")
    assert f"{shown:%Y-%m-%d %H:%M:%S}" in content
    assert "Times are those of Asia/Tokyo." in content
    assert page.complaints == []


def test_it_corrects_a_memory_and_confirms_it(alices, open_page):
    page = signed_in(open_page())
    page.open(reverse("admin:memories_memory_change", args=[alices.pk]))

    page.page.fill("textarea[name=content]", "The tide feed sends UTC since March")
    page.page.click("button:has-text('Save')")
    page.page.wait_for_selector("#result_list")
    page.open(reverse("admin:memories_memory_change", args=[alices.pk]))
    page.page.click("button:has-text('Still true')")
    page.page.wait_for_selector("text=confirmed")

    alices.refresh_from_db()
    assert alices.content == "The tide feed sends UTC since March"
    assert alices.verified_at
    assert page.complaints == []
