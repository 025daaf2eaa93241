"""The page of a revision: what it shows, and what can be reverted from it."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from common.caller import Role
from playbook.models import PlaybookChange, PlaybookDelta, PlaybookEntry
from tests.admin.conftest import HOSTILE, queries_of
from tests.console.conftest import TEXT, a_run, add, newest_change
from tests.console.test_entry_placement import place
from tests.playbook.conftest import reword

pytestmark = pytest.mark.django_db


@pytest.fixture
def entry(project, alice):
    return add(project, alice)


def address(project, **asked):
    query = "&".join(f"{name}={value}" for name, value in asked.items())
    return f"{reverse('console:playbook')}?project={project.pk}&{query}"


def revision_html(browser, project, status=200, **asked):
    answer = browser.get(address(project, **asked))
    assert answer.status_code == status
    return answer.content.decode()


class TestARevision:
    def test_it_shows_the_playbook_as_it_was(self, browser_of, project, entry, alice):
        reword(entry, alice, "Moor at the south berth.")

        viewer = browser_of(Role.VIEWER)
        html = revision_html(viewer, project, revision=1, show="entries")

        assert "1 entry at revision 1" in html
        assert TEXT in html
        assert "south" not in html

    def test_it_is_the_present_one_unless_another_is_named(
        self, curator, project, entry, alice
    ):
        reword(entry, alice, "Moor at the south berth.")

        html = revision_html(curator, project)

        assert "1 entry at revision 2" in html
        assert "Moor at the south berth." in html

    def test_it_shows_the_differences_to_now_word_by_word(
        self, curator, project, entry, alice
    ):
        reword(entry, alice, TEXT.replace("north", "south"))

        html = revision_html(curator, project, revision=1)

        assert "From revision 1 to 2: 1 changed" in html
        assert "<del>north </del><ins>south </ins>" in html

    def test_any_two_are_compared(self, curator, project, entry, alice):
        reword(entry, alice, "Moor at the south berth.")
        add(project, alice, "Pilots board at the outer buoy.")

        html = revision_html(curator, project, revision=3, to=1, show="differences")

        assert "From revision 3 to 1: 1 changed, 1 removed" in html

    def test_it_says_who_made_it_why_and_what_changed(
        self, curator, project, entry, alice
    ):
        reword(entry, alice, TEXT.replace("north", "south"))

        html = revision_html(curator, project)

        assert "by <bdi" in html
        assert "alice" in html
        assert "Changes of revision 2" in html
        assert "<del>north </del><ins>south </ins>" in html

    def test_it_links_to_its_neighbours_and_keeps_the_comparison(
        self, curator, project, entry, alice
    ):
        reword(entry, alice, "Moor at the south berth.")
        html = revision_html(curator, project, revision=1, to=2)

        assert 'rel="prev" href="/admin/revisions/' in html
        assert "to=2&amp;revision=0" in html or "revision=0&amp;to=2" in html
        assert 'rel="next"' in html

    def test_entries_are_ordered_by_pin_then_by_priority(
        self, curator, project, entry, alice
    ):
        pilots = add(project, alice, "Pilots board at the outer buoy.")
        place(curator, project, pilots, priority=5)

        html = revision_html(curator, project)

        assert html.index("Pilots board") < html.index("Moor at the north")

    @pytest.mark.parametrize("revision", ["99", "-1", "zebra", "9" * 30])
    def test_an_unknown_revision_is_refused_with_a_message(
        self, curator, project, entry, revision
    ):
        html = revision_html(curator, project, status=400, revision=revision)

        assert "errorlist" in html or "text-red" in html
        assert "1 entry at revision 1" in html

    def test_an_empty_playbook_says_what_to_do(self, curator, project):
        assert "report finished tasks" in revision_html(curator, project)

    def test_hostile_words_are_shown_as_text(self, curator, project, entry):
        PlaybookEntry.objects.filter(pk=entry.pk).update(content=HOSTILE)

        html = revision_html(curator, project)

        assert "<script>alert" not in html
        assert "<img src=x" not in html

    def test_it_asks_as_many_queries_however_many_entries(
        self, owner, project, alice, entry
    ):
        reword(entry, alice, "Moor at the south berth.")
        revision_html(owner, project)
        few = [len(own(owner, address(project, **a))) for a in EVERY_VIEW]
        for number in range(5):
            add(project, alice, f"Pilots board at buoy {number} of the harbour.")

        many = [len(own(owner, address(project, **a))) for a in EVERY_VIEW]

        # The revision, what it did; then the count and the rows, or the revision
        # again and its history, of both revisions where they are compared.
        assert few == many == [4, 4, 5], (few, many)


def own(browser, url):
    """Return the page's queries, without those of the shell around it."""
    tables = ("playbook", "playbookchange", "playbookentry")
    named = [f'FROM "playbook_{table}"' for table in tables]
    made = queries_of(browser, url)
    return [query for query in made if any(name in query for name in named)]


EVERY_VIEW = [
    {"show": "entries"},
    {"revision": 1, "show": "entries"},
    {"revision": 1, "show": "differences"},
]


def take_back(browser, project, what, reason="it was right", **asked):
    return browser.post(address(project, **asked), {"what": what, "reason": reason})


class TestTakingBack:
    def test_everything_after_a_revision(self, curator, project, entry, alice):
        reword(entry, alice, "Moor at the south berth.")
        add(project, alice, "Pilots board at the outer buoy.")

        answer = take_back(curator, project, "after", revision=1)

        assert answer.url == f"{address(project)}revision=4"
        entry.refresh_from_db()
        assert entry.content == TEXT
        assert PlaybookEntry.objects.current().count() == 1
        assert newest_change().reason == "it was right"
        assert newest_change().actor == "user:bob"

    def test_one_revision(self, curator, project, entry, alice):
        reword(entry, alice, "Moor at the south berth.")
        add(project, alice, "Pilots board at the outer buoy.")

        take_back(curator, project, "revision", revision=2)

        entry.refresh_from_db()
        assert entry.content == TEXT
        assert PlaybookEntry.objects.current().count() == 2

    def test_a_change_a_delta_and_a_run(self, curator, project, entry, alice):
        reword(entry, alice, "Moor at the south berth.")
        take_back(curator, project, f"change:{newest_change().pk}", revision=2)
        entry.refresh_from_db()
        assert entry.content == TEXT

        run = a_run(project, alice, entry)
        entry.refresh_from_db()
        assert entry.helpful == 1
        take_back(curator, project, f"run:{run.pk}")
        entry.refresh_from_db()
        assert entry.helpful == 0

        delta = PlaybookDelta.objects.get(entry=entry, operation="add")
        take_back(curator, project, f"delta:{delta.pk}")
        entry.refresh_from_db()
        assert entry.status == "deleted"

    def test_the_page_offers_what_can_be_reverted(self, curator, project, entry, alice):
        run = a_run(project, alice, entry)
        html = revision_html(curator, project)

        assert f'value="run:{run.pk}"' in html
        assert 'value="revision"' in html
        assert 'value="after"' not in html
        assert 'value="after"' in revision_html(curator, project, revision=0)

    def test_a_refusal_is_shown_and_the_input_stays(
        self, curator, project, entry, alice
    ):
        reword(entry, alice, "Moor at the south berth.")

        answer = take_back(curator, project, "revision", "<b>why", revision=1)

        html = answer.content.decode()
        assert answer.status_code == 400
        assert "Later changes affect gotchas-00001 (content" in html
        assert 'value="&lt;b&gt;why"' in html
        assert 'value="revision" required checked' in html

    @pytest.mark.parametrize(
        ("what", "reason", "told"),
        [
            ("revision", " ", "Say why"),
            ("", "why", "Choose what to revert"),
            ("zebra:1", "why", "Choose what to revert"),
            ("change:1", "why", "Choose what to revert"),
            (f"change:{'0' * 32}", "why", "There is no change"),
            (f"run:{'0' * 32}", "why", "is in force"),
        ],
    )
    def test_an_invalid_choice_is_reported(
        self, curator, project, entry, what, reason, told
    ):
        answer = take_back(curator, project, what, reason)

        assert answer.status_code == 400
        assert told in answer.content.decode()
        assert PlaybookChange.objects.count() == 1

    def test_a_viewer_is_neither_offered_nor_allowed_it(
        self, browser_of, project, entry
    ):
        viewer = browser_of(Role.VIEWER)

        assert "Revert" not in revision_html(viewer, project)
        assert take_back(viewer, project, "revision").status_code == 403
        entry.refresh_from_db()
        assert entry.is_live


class TestCharlie:
    def test_he_sees_and_changes_nothing_of_alices(
        self, charlies, project, entry, alice
    ):
        reword(entry, alice, "Moor at the south berth.")
        html = revision_html(charlies, project, status=404)
        elsewhere = charlies.get(reverse("console:playbook")).content.decode()

        assert "Moor" not in html + elsewhere
        assert project.name not in html + elsewhere
        assert take_back(charlies, project, "revision").status_code == 404
        own = charlies.account.memberships.get().project
        place(charlies, own, entry, priority=7)
        take_back(charlies, own, f"change:{newest_change().pk}")
        assert entry.priority == 0
        assert PlaybookChange.objects.count() == 2

    def test_nobody_is_sent_to_the_login_page(self, project):
        assert Client().get(reverse("console:playbook")).status_code == 302
