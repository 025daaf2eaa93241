"""An entry is placed without scripts; a key is created, copied and used."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.urls import reverse

from common.caller import Role
from projects.models import Membership
from tests.browser.people import PASSWORD, signed_in
from tests.console.conftest import TEXT, add
from tests.playbook.conftest import reword

pytestmark = [
    pytest.mark.slow,
    pytest.mark.django_db(transaction=True),
    pytest.mark.xdist_group("browser"),
]


@pytest.fixture
def alices(project):
    account = User.objects.create_user("alice", password=PASSWORD, is_staff=True)
    Membership.objects.create(project=project, account=account, role=Role.OWNER)
    return project


@pytest.fixture
def entry(alices, alice):
    entry = add(alices, alice)
    reword(entry, alice, TEXT.replace("north", "south"))
    return entry


def test_without_scripts_a_revision_is_read_and_an_entry_placed(entry, open_page):
    page = signed_in(open_page(scripts=False))
    page.page.goto(page.server + reverse("console:playbook"))

    page.page.click("a[rel=prev]")
    page.page.wait_for_selector("h2:has-text('From revision 1 to 2')")
    page.page.goto(page.server + reverse("console:playbook"))
    page.page.fill("input[name=priority]", "7")
    page.page.check("input[name=pinned]")
    page.page.click(".pb-place button")

    page.page.wait_for_selector("text=Its place is changed.")
    entry.refresh_from_db()
    assert (entry.priority, entry.pinned) == (7, True)


def test_a_key_is_made_copied_and_used(alices, open_page):
    page = signed_in(open_page())
    page.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.open(reverse("admin:access_apikey_add"))
    page.page.fill("input[name=name]", "agent")
    page.page.select_option("select[name=projects]", str(alices.pk), force=True)
    page.page.click("button:has-text('Save')")

    page.page.click("button[data-copy]")
    page.page.wait_for_selector("button:has-text('Copied')")
    secret = page.page.inner_text(".am-secret")
    assert page.page.evaluate("navigator.clipboard.readText()") == secret
    headers = {"Authorization": f"Bearer {secret}"}
    answer = page.page.request.get(f"{page.server}/api/v1/projects", headers=headers)
    assert alices.name in answer.text()
    assert page.complaints == []
