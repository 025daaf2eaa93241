"""Memories are promoted, compacted and restored in the admin."""

from __future__ import annotations

import pytest
from django.urls import reverse

from common.caller import Role
from common.ids import uuid7
from memories import scopes
from memories.models import Memory
from memories.store import write
from memories.store.drafts import Draft

pytestmark = pytest.mark.django_db


class TestPromoting:
    def promote(self, browser, memory, **asked):
        given = {"memories": memory.pk, "target": "workspace"} | asked
        url = reverse("admin:memories_memory_promote")
        return browser.post(url, given, follow=True)

    @pytest.fixture
    def theirs(self, project, alice):
        return stored(project, alice, "Berths are counted from the north", user="u1")

    def test_it_makes_a_copy_that_names_its_origin(self, curator, theirs):
        page = self.promote(curator, theirs)

        copy = Memory.objects.get(promoted_from=theirs.pk)
        theirs.refresh_from_db()
        assert copy.scope_kind == "workspace"
        assert theirs.deleted_at is None
        assert page.redirect_chain[-1][0].endswith(f"{copy.pk}/change/")

    def test_it_deletes_the_original_where_that_is_wanted(self, curator, theirs):
        self.promote(curator, theirs, delete_original="on")

        theirs.refresh_from_db()
        assert theirs.delete_reason.startswith("promoted to")

    def test_it_goes_to_a_user_by_key(self, curator, project, alice):
        narrow = stored(project, alice, "The tide table is in UTC", session="s1")

        self.promote(curator, narrow, target="user", key="u7")

        assert Memory.objects.get(promoted_from=narrow.pk).scope_key == "u7"

    @pytest.mark.parametrize(
        ("asked", "told"),
        [
            ({"target": "user"}, "Name the user"),
            ({"target": "object", "key": "b1"}, "a type and an id"),
            ({"target": "user", "key": "u2"}, "Cannot promote memory from user scope"),
            ({"target": "zebra"}, "Select a valid choice"),
            ({"memories": "zebra"}, "Choose memories in the list of memories first"),
            ({"memories": str(uuid7())}, "There is no memory"),
        ],
    )
    def test_it_names_the_error_and_keeps_the_input(self, curator, theirs, asked, told):
        html = self.promote(curator, theirs, **asked).content.decode()

        assert told in html
        assert asked.get("key", "") in html
        assert not Memory.objects.filter(promoted_from=theirs.pk).exists()

    def test_a_viewer_is_refused(self, browser_of, theirs):
        assert self.promote(browser_of(Role.VIEWER), theirs).status_code == 403
        assert Memory.objects.count() == 1

    def test_no_link_leads_there_from_what_cannot_be_promoted(
        self, curator, project, alice
    ):
        widest = stored(project, alice, "Berths are counted from the north", org=True)

        html = curator.get(row_page(widest)).content.decode()

        assert reverse("admin:memories_memory_promote") not in html


class TestCompacting:
    @pytest.fixture
    def sources(self, project, alice):
        texts = ("Berths are counted from the north.", "The tide table is in UTC.")
        return [stored(project, alice, text) for text in texts]

    def compact(self, browser, rows, **asked):
        listed = ",".join(str(row.pk) for row in rows)
        url = reverse("admin:memories_memory_compact")
        given = {"memories": listed, "content": "Berths from the north, tides in UTC."}
        return browser.post(url, given | asked, follow=True)

    def test_the_list_leads_there_with_its_selection(self, curator, sources):
        chosen = {"action": "compact", "_selected_action": [r.pk for r in sources]}
        url = reverse("admin:memories_memory_changelist")

        page = curator.post(url, chosen, follow=True).content.decode()

        assert all(row.content in page for row in sources)

    def test_it_makes_one_and_keeps_the_sources(self, curator, sources):
        self.compact(curator, sources)

        made = Memory.objects.get(compacted_from__len=2)
        assert made.content == "Berths from the north, tides in UTC."
        assert not Memory.objects.exclude(deleted_at=None).exists()

    def test_it_summarizes_where_no_text_is_given(self, curator, sources):
        self.compact(curator, sources, content="")

        assert "tide table" in Memory.objects.get(compacted_from__len=2).content

    def test_it_is_undone_from_its_page_which_shows_its_sources(self, curator, sources):
        self.compact(curator, sources, delete_sources="on")
        made = Memory.objects.get(compacted_from__len=2)
        html = curator.get(row_page(made)).content.decode()

        curator.post(
            reverse("admin:memories_memory_do", args=[made.pk, "undo_compaction"])
        )

        assert all(row.content in html for row in sources)
        assert set(Memory.objects.filter(deleted_at=None)) == set(sources)

    def test_only_a_compaction_can_be_undone(self, curator, sources):
        html = curator.get(row_page(sources[0])).content.decode()

        assert "Undo the compaction" not in html

    def test_it_keeps_the_text_when_it_refuses(self, curator, sources, project, alice):
        other = stored(project, alice, "Pilots board at the buoy.", user="u1")

        html = self.compact(curator, [*sources, other]).content.decode()

        assert "Only memories of one scope" in html
        assert "Berths from the north, tides in UTC." in html
        assert not Memory.objects.filter(compacted_from__len=3).exists()


def stored(project, caller, content, *, user="", session="", org=False):
    named = None
    if user:
        named = {"kind": "user", "user_id": user}
    if session:
        named = {"kind": "session", "session_id": session}
    if org:
        named = {"kind": "org"}
    scope = scopes.resolve(named, project, caller)
    draft = Draft(content=content, memory_type="learning", scope=scope)
    return write.store(project, draft, caller).memory


def row_page(row):
    name = f"admin:{row._meta.app_label}_{row._meta.model_name}_change"
    return reverse(name, args=[row.pk])
