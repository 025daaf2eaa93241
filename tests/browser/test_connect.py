"""A person makes a key on the page Connect, and copies it with the settings."""

from __future__ import annotations

import pytest
from django.urls import reverse

from access.models import ApiKey, hash_secret
from tests.browser.people import signed_in

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.xdist_group("browser"),
]
CONNECT = reverse("console:connect")
KEY = "pre:has-text('am_')"


@pytest.mark.usefixtures("alices")
def test_a_key_is_made_and_copied_once(open_page):
    watched = signed_in(open_page())
    watched.open(CONNECT)
    page = watched.page

    page.fill("input[name=agent_id]", "ana@laptop")
    page.click("text=Make a key")
    page.wait_for_selector("text=shown only once")
    text = page.inner_text(KEY)
    page.click(f"{KEY} + button")
    page.wait_for_selector(f"{KEY} + button:has-text('Copied')")

    assert page.evaluate("getSelection().toString()").strip() == text.strip()
    assert ApiKey.objects.get().hash == hash_secret(text.strip())
    page.click("summary:has-text('Codex')")
    assert page.is_visible("pre:has-text('bearer_token_env_var')")
    assert watched.width_beyond_the_window() <= 0
    assert watched.complaints == []
    watched.open(CONNECT)
    assert page.inner_text(KEY).endswith("am_…")
