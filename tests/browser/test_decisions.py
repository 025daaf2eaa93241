"""More decisions of a person: duplicates, and a job that a worker runs."""

from __future__ import annotations

import pytest
from django.urls import reverse

from memories.duplicates import scan
from memories.models import Memory, PossibleDuplicate
from memories.store import write
from memories.store.drafts import Draft
from tests.browser.review import wait_for_text
from tests.support import product_processes

pytestmark = [
    pytest.mark.slow,
    pytest.mark.django_db(transaction=True),
    pytest.mark.xdist_group("browser"),
]


@pytest.fixture
def inbox(sign_in, open_page):
    """Open a tab of the inbox as a curator."""

    def make(tab):
        page = sign_in("bob", open_page())
        page.open(f"{reverse('console:inbox')}?tab={tab}")
        page.page.wait_for_selector(".in-card.is-open")
        return page

    return make


def test_a_duplicate_is_marked_and_unmarked(project, alice, inbox):
    texts = ("The tide feed sends local time", "Ebb tables are late in winter")
    older, newer = (
        write.store(project, Draft(content=text, memory_type="discovery"), alice)
        for text in texts
    )
    PossibleDuplicate.objects.create(
        project=project, memory=newer.memory, other=older.memory, similarity=0.93
    )
    page = inbox("duplicates")

    page.page.keyboard.press("m")
    wait_for_text(page, "the newer is a duplicate now")
    assert Memory.objects.get(pk=newer.memory.pk).duplicate_of_id == older.memory.pk
    page.page.click("#inbox-said a:has-text('undo it')")
    page.page.fill("input[name=note]", "another feed")
    page.page.click("button:has-text('Unmark')")

    wait_for_text(page, "Unmarked")
    assert not Memory.objects.get(pk=newer.memory.pk).is_duplicate
    assert page.complaints == []


def test_a_worker_takes_a_job_to_its_end(project, alice, sign_in, open_page):
    for number in range(12):
        draft = Draft(content=f"Berth {number} has a crane", memory_type="learning")
        write.store(project, draft, alice)
    job = scan.start(project, alice, threshold=None, apply=False)
    page = sign_in("bob", open_page())
    page.open(reverse("admin:jobs_job_change", args=[job.pk]))
    page.open(f"{reverse('admin:jobs_job_changelist')}?kind=deduplicate")
    row = f"tr:has(a[href*='{job.pk}'])"
    page.page.wait_for_selector(f"{row} .am-progress:not([data-state=done])")

    with product_processes.run_worker():
        page.page.wait_for_selector(
            f"{row} .am-progress[data-state=done]:has-text('12 of 12')", timeout=60_000
        )

    job.refresh_from_db()
    assert (job.state, job.attempts) == ("done", 1)
    assert page.complaints == []
