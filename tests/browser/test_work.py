"""A revision is reverted, a key is created and used, a job is watched to its end."""

from __future__ import annotations

import re

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.contrib.auth.models import User
from django.urls import reverse

from ace import run as runs
from common.caller import Role
from jobs.models import Job
from playbook.models import PlaybookEntry
from projects.models import Membership
from tests.browser.people import LONG, PASSWORD, signed_in
from tests.console.conftest import TEXT, add
from tests.playbook.conftest import reword

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.xdist_group("browser"),
]


TASK = {"agent_id": "coder", "goal": LONG, "result": LONG, "outcome": "success"}


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


def test_the_slider_goes_back_and_an_edit_is_reverted(entry, open_page):
    page = signed_in(open_page())
    page.open(reverse("console:playbook"))
    page.page.focus(".am-slide input")

    page.page.keyboard.press("ArrowLeft")
    page.page.wait_for_selector("h2:has-text('From revision 1 to 2: 1 changed')")
    section = "section:has(h2:text('From revision'))"
    assert "south" in page.page.inner_text(f"{section} ins")
    page.page.click("summary:has-text('Revert')")
    page.page.check("input[value=after]")
    page.page.fill("input[name=reason]", "it is the north one")
    page.page.click(".pb-back button")

    page.page.wait_for_selector("text=Reverted by 1 new changes: revision 3")
    entry.refresh_from_db()
    assert entry.content == TEXT
    assert page.complaints == []


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


def test_a_job_is_watched_to_its_end(alices, open_page):
    job = Job.objects.create(
        kind="embed", project_id=alices.pk, state="running", done=3, total=10
    )
    page = signed_in(open_page())
    page.open(reverse("admin:jobs_job_changelist"))
    assert "3 of 10" in page.page.inner_text(".am-progress")

    Job.objects.filter(pk=job.pk).update(done=7)
    page.page.wait_for_selector(".am-progress:has-text('7 of 10')")
    Job.objects.filter(pk=job.pk).update(state="done", done=10)

    page.page.wait_for_selector(".am-progress[data-state=done]:has-text('10 of 10')")
    row = page.page.inner_text("tr:has(.am-progress)")
    assert re.search("done", row, re.IGNORECASE)
    assert page.complaints == []


def serious(page):
    """Return the serious faults that axe finds."""
    found = Axe().run(page.page).response["violations"]
    grave = [one for one in found if one["impact"] in ("serious", "critical")]
    return [(one["id"], node["html"][:200]) for one in grave for node in one["nodes"]]


@pytest.mark.parametrize(("width", "scheme"), [(1280, "dark"), (390, "light")])
def test_the_pages_fit_the_window_whatever_the_text(
    entry, alice, open_page, width, scheme
):
    run = runs.complete(entry.project, TASK, alice)
    Job.objects.create(kind="k", project_id=entry.project_id, total=9, error=LONG)
    PlaybookEntry.objects.filter(pk=entry.pk).update(content=LONG)
    page = signed_in(open_page(width, scheme))
    revisions = reverse("console:playbook")
    pages = [
        revisions,
        f"{revisions}?revision=1&show=entries",
        f"{revisions}?revision=1",
        reverse("admin:ace_acerun_change", args=[run.pk]),
        reverse("admin:jobs_job_changelist"),
    ]

    for path in pages:
        page.open(path)

        assert page.width_beyond_the_window() <= 0, path
        assert serious(page) == [], path
    assert page.complaints == []
    assert page.strangers == []
