from __future__ import annotations

import pytest
from django.urls import reverse

from common.erasure import redaction
from memories.models import Memory, Purge
from memories.store import write
from memories.store.drafts import Draft

pytestmark = pytest.mark.django_db
TEXT = "Bob has the flu and stays at home"


@pytest.fixture
def memory(project, alice):
    draft = Draft(content=TEXT, memory_type="learning", user_id="bob")
    return write.store(project, draft, alice).memory


@pytest.fixture
def ask(owner, memory):
    def ask(**given):
        body = {"memories": memory.pk, "reason": "Bob asked", **given}
        return owner.post(reverse("admin:memories_memory_purge"), body, follow=True)

    return ask


class TestPurgingAMemory:
    def test_it_counts_first_and_changes_nothing(self, ask, memory):
        html = ask().content.decode()

        assert "memories_memory" in html
        assert "memories_memorychange" in html
        memory.refresh_from_db()
        assert memory.content == TEXT

    def test_confirmed_it_purges_and_shows_the_receipt(self, ask, memory):
        page = ask(confirmed="on")

        receipt = Purge.objects.get()
        memory.refresh_from_db()
        assert redaction.is_redacted(memory.content)
        assert page.redirect_chain[-1][0].endswith(f"{receipt.pk}/change/")
        assert receipt.reason == "Bob asked"

    def test_it_wants_a_reason(self, ask, memory):
        html = ask(confirmed="on", reason="").content.decode()

        assert "This field is required" in html
        assert not Purge.objects.exists()

    def test_the_page_of_a_memory_leads_there(self, owner, curator, memory):
        page = reverse("admin:memories_memory_change", args=[memory.pk])
        link = reverse("admin:memories_memory_purge")

        assert link in owner.get(page).content.decode()
        assert link not in curator.get(page).content.decode()


class TestPurgingAUser:
    def test_everything_of_the_user_goes(self, owner, project, memory):
        body = {
            "project": project.pk,
            "of_what": "user_id",
            "key": "bob",
            "reason": "Bob asked",
            "confirmed": "on",
        }

        owner.post(reverse("admin:memories_purge_purge"), body)

        assert not Memory.objects.filter(content=TEXT).exists()
        assert Purge.objects.get().counts["memories_memory"] == 1

    def test_a_space_makes_another_user(self, owner, project, memory):
        named = {"project": project.pk, "of_what": "user_id", "key": " bob"}
        body = {**named, "reason": "Not Bob", "confirmed": "on"}

        owner.post(reverse("admin:memories_purge_purge"), body)

        assert Memory.objects.filter(content=TEXT).exists()

    def test_an_object_needs_its_type(self, owner, project):
        body = {"project": project.pk, "of_what": "object", "key": "7", "reason": "x"}

        page = owner.post(reverse("admin:memories_purge_purge"), body)

        assert "Name its type." in page.content.decode()


def test_the_page_of_a_purged_memory_opens(ask, owner, memory):
    ask(confirmed="on")

    page = owner.get(reverse("admin:memories_memory_change", args=[memory.pk]))

    assert page.status_code == 200
    assert TEXT not in page.content.decode()
