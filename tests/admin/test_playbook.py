"""The playbook in the admin: undo, verify, preview, export and import."""

from __future__ import annotations

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse
from django.utils import timezone

from ace import run as runs
from ace.models import AceRun
from audit.models import AuditEvent
from common.caller import Role
from memories.models import File, Memory, MemoryVector
from memories.store import write
from memories.store.drafts import Draft
from playbook.exchange import export_playbook
from playbook.history import votes
from playbook.history.revision import Cause
from playbook.models import (
    Exposure,
    Playbook,
    PlaybookChange,
    PlaybookDelta,
    PlaybookEntry,
)
from playbook.proposals import person_edits
from playbook.reading import exposures
from projects.models import Membership, Project
from tests.admin.test_actions import do, page
from tests.admin.test_lists import queries_of
from tests.playbook.conftest import reword

pytestmark = pytest.mark.django_db

TEXT = "Moor at the north berth, as src/berths.py says."


def add(project, caller, content=TEXT):
    wanted = {"content": content, "category": "gotchas"}
    delta = person_edits.submit_edit(
        project, person_edits.addition(wanted, caller, reason=""), caller
    )
    return PlaybookEntry.objects.get(pk=delta.entry_id)


@pytest.fixture
def entry(project, alice):
    return add(project, alice)


def newest_change():
    return PlaybookChange.objects.first()


class TestTakingBack:
    def test_a_change_by_a_new_one_with_its_reason(self, curator, entry, alice):
        reword(entry, alice, "Moor at the south berth.")

        do(curator, newest_change(), "revert", "it was right")

        entry.refresh_from_db()
        assert entry.content == TEXT
        assert newest_change().reason == "it was right"

    def test_an_obstacle_is_named_in_words(self, curator, entry, alice):
        first = newest_change()
        reword(entry, alice, "Moor at the south berth.")

        [told] = do(curator, first, "revert")

        assert "Later changes affect gotchas-00001 (content" in told
        assert "Undo those changes first" in told

    def test_all_that_came_after_a_change(self, curator, project, entry, alice):
        first = newest_change()
        reword(entry, alice, "Moor at the south berth.")
        add(project, alice, "Pilots board at the outer buoy.")

        do(curator, first, "revert_since", "a bad day")

        entry.refresh_from_db()
        assert entry.content == TEXT
        assert PlaybookEntry.objects.current().count() == 1

    def test_what_a_run_changed(self, curator, project, alice, entry):
        run = a_run(project, alice, entry)
        entry.refresh_from_db()
        assert entry.helpful == 1

        do(curator, run, "revert")

        entry.refresh_from_db()
        assert entry.helpful == 0

    def test_a_run_that_changed_nothing_says_so(self, curator, project):
        run = AceRun.objects.create(
            project=project, agent_id="a", actor="a", request={}, state="done"
        )

        [told] = do(curator, run, "revert")

        assert "is in force" in told

    def test_a_delta_and_puts_it_in_force_again(self, curator, entry):
        delta = PlaybookDelta.objects.get(entry=entry)
        do(curator, delta, "undo")
        assert delta.status == "reverted"

        do(curator, delta, "redo")

        entry.refresh_from_db()
        assert delta.status == "applied"
        assert entry.status == "active"

    def test_what_cannot_be_restored_is_named(self, curator, project, alice, entry):
        draft = Draft(content="It is the north berth", memory_type="learning")
        memory = write.store(project, draft, alice).memory
        votes.record(project, [], [entry.pk], Cause(memory_id=memory.pk), alice)
        do(curator, newest_change(), "revert")
        undone = newest_change()
        MemoryVector.objects.filter(memory=memory).delete()
        Memory.objects.filter(pk=memory.pk).delete()

        told = do(curator, undone, "revert")

        assert "1 memories are gone and support nothing again" in told[-2]

    @pytest.mark.parametrize("action", ["revert", "revert_since"])
    def test_a_writer_is_neither_offered_nor_allowed_it(
        self, browser_of, entry, alice, action
    ):
        first = newest_change()
        reword(entry, alice, "Moor at the south berth.")
        writer = browser_of(Role.WRITER)

        do(writer, first, action, "why")

        assert "am-actions" not in writer.get(page(first)).content.decode()
        entry.refresh_from_db()
        assert entry.content == "Moor at the south berth."


def a_run(project, alice, entry):
    task = {
        "agent_id": "coder",
        "goal": "Moor the boat",
        "result": f"Moored it as [{entry.label}] says.",
        "feedback": "All 14 tests passed.",
        "feedback_source": "test",
        "outcome": "success",
        "cited_entry_ids": [entry.label],
    }
    return runs.complete(project, task, alice)


class TestAnEntry:
    def test_a_curator_says_that_it_still_holds(self, curator, entry):
        do(curator, entry, "verify", "looked at it")

        assert entry.verified_at
        assert newest_change().action == "verify"
        assert newest_change().reason == "looked at it"

    def test_it_cannot_be_verified_once_it_is_deleted(self, curator, entry):
        do(curator, entry, "delete")

        html = curator.get(page(entry)).content.decode()
        do(curator, entry, "verify")

        assert "Still true" not in html
        assert entry.verified_at is None

    def test_its_page_names_the_file_that_makes_it_suspect(
        self, curator, project, entry
    ):
        file = File.objects.create(
            project=project,
            file_path="src/berths.py",
            attested_change_at=timezone.now(),
        )

        html = curator.get(page(entry)).content.decode()
        do(curator, entry, "verify")
        later = curator.get(page(entry)).content.decode()

        assert "Freshness: suspect" in html
        assert page(file) in html
        assert "Freshness: fresh" in later

    def test_its_page_names_the_agents_that_got_it(self, curator, entry):
        Exposure.objects.create(
            project=entry.project,
            entry=entry,
            agent_id="coder-7",
            was_cited=True,
            relevance=0.75,
            source=exposures.Source.CONTEXT,
        )

        html = curator.get(page(entry)).content.decode()

        assert "Given to agents: 1, used: 1" in html
        assert "coder-7" in html
        assert "0.750" in html

    def test_its_page_names_the_change_of_each_word(self, curator, entry, alice):
        first = newest_change()
        reword(entry, alice, TEXT.replace("north", "south"))
        html = curator.get(page(entry)).content.decode()
        blame = html.partition("Where its words come from")[2].partition("</section")[0]

        assert blame.count(page(first)) == 2
        assert blame.count(page(newest_change())) == 1

    def test_its_page_takes_as_many_queries_however_long_it_is_used(
        self, owner, project, alice, entry
    ):
        queries_of(owner, page(entry))  # the first one fills Django's own caches
        for word in ("east", "west", "south"):
            reword(entry, alice, f"Moor at the {word} berth, as src/berths.py says.")
            draft = Draft(content=f"It is the {word} berth", memory_type="learning")
            memory = write.store(project, draft, alice).memory
            entry.supports.create(memory=memory)
            Exposure.objects.create(project=project, entry=entry)

        made = queries_of(owner, page(entry))

        # Session, account, roles, projects, waiting changes; the entry, its files (3),
        # supports, exposures (2), words, deltas, history.
        assert len(made) == 15, "\n\n".join(made)


def ask(browser, name, project, **given):
    return browser.get(
        reverse(f"admin:playbook_playbook_{name}"), {"project": project.pk} | given
    )


class TestThePreview:
    def test_it_says_why_each_entry_is_in_or_out(
        self, browser_of, project, alice, entry
    ):
        add(project, alice, "Pilots board at the outer buoy.")
        asked = {"task": TEXT, "relevant_only": "on"}

        viewer = browser_of(Role.VIEWER)
        html = ask(viewer, "preview", project, **asked).content.decode()

        assert "The agent gets 1 of 2 entries" in html
        given, _, left_out = html.partition("Left out")
        assert "speaks of the task" in given
        assert "Pilots board" in left_out
        assert "below the relevance gate" in left_out

    def test_it_names_entries_beyond_the_budget(self, curator, project, entry):
        html = ask(curator, "preview", project, token_budget=3).content.decode()

        assert "The agent gets 0 of 1 entries in 0 of 3 tokens" in html
        assert "does not fit in the budget" in html

    def test_it_counts_no_exposures(self, curator, project, entry):
        ask(curator, "preview", project, task="Moor the boat")

        assert not Exposure.objects.exists()

    def test_it_takes_as_many_queries_however_many_entries(
        self, owner, project, alice, entry
    ):
        page = f"{reverse('admin:playbook_playbook_preview')}?project={project.pk}"
        asked = f"{page}&task=Moor"
        queries_of(owner, asked)
        few = len(queries_of(owner, asked))
        for number in range(4):
            add(project, alice, f"Pilots board at buoy {number} of the harbour.")

        assert len(queries_of(owner, asked)) == few

    def test_relevance_without_a_task_is_refused_in_words(self, curator, project):
        html = ask(curator, "preview", project, relevant_only="on").content.decode()

        assert "Enter a task; without" in html


class TestThePageOfThePlaybook:
    def test_the_page_of_a_playbook_leads_to_all_of_it(self, curator, project, entry):
        html = curator.get(page(Playbook.objects.get())).content.decode()

        names = [
            f"admin:playbook_playbook_{n}" for n in ("preview", "export", "import")
        ]
        for name in ["console:playbook", *names]:
            assert f"{reverse(name)}?project={project.pk}" in html


class TestExchange:
    @pytest.mark.parametrize("format", export_playbook.FORMATS)
    def test_a_viewer_downloads_it(self, browser_of, project, alice, entry, format):
        answer = ask(browser_of(Role.VIEWER), "export", project, format=format)

        assert answer.content.decode() == export_playbook.export_text(
            project, alice, format=format
        )
        assert answer["Content-Type"] == export_playbook.MEDIA_TYPES[format]
        assert 'attachment; filename="playbook-alpha.' in answer["Content-Disposition"]

    def take_in(self, browser, project, **given):
        url = reverse("admin:playbook_playbook_import")
        asked = {"project": project.pk, "format": "ace", "producer": "model"}
        return browser.post(url, asked | given).content.decode()

    def test_a_file_becomes_changes_that_wait(self, browser_of, project):
        file = SimpleUploadedFile(
            "playbook.txt", b"## PITFALLS\n[tips-00001] :: Count berths twice.\nHello"
        )

        html = self.take_in(browser_of(Role.WRITER), project, file=file)

        delta = PlaybookDelta.objects.get()
        assert (delta.status, delta.content) == ("pending", "Count berths twice.")
        assert page(delta) in html
        assert "Hello" in html.partition("Unparsed lines")[2]
        assert not PlaybookEntry.objects.exists()

    def test_the_same_text_twice_changes_nothing_more(self, curator, project):
        text = "[tips-00001] :: Count berths twice."
        self.take_in(curator, project, content=text)

        self.take_in(curator, project, content=text)

        assert PlaybookDelta.objects.count() == 1

    def test_a_history_restores_an_empty_playbook(self, curator, project, alice, entry):
        text = export_playbook.export_text(project, alice, format="json")
        organization = project.organization
        empty = Project.objects.create(organization=organization, name="empty")
        member = {"account": curator.account, "role": Role.CURATOR}
        Membership.objects.create(project=empty, **member)

        html = self.take_in(curator, empty, content=text, format="json")

        assert "1 entries were restored with their history" in html
        assert PlaybookEntry.objects.get(project=empty).content == TEXT
        assert AuditEvent.objects.filter(verb="playbook.restore_history").exists()

    @pytest.mark.parametrize(
        ("given", "told"),
        [
            ({}, "Choose a file that is not empty, or paste text."),
            ({"content": "{", "format": "json"}, "JSON"),
            ({"content": "no block", "format": "agents-md"}, "no managed block"),
            ({"content": "[a-1] :: b", "category": "zebra"}, "Must be one of"),
            (
                {"file": SimpleUploadedFile("a", b"\xff\xfe\x00")},
                "It is not UTF-8 text",
            ),
        ],
    )
    def test_errors_are_named_and_the_input_stays(self, curator, project, given, told):
        html = self.take_in(curator, project, **given)

        assert told in html
        assert given.get("content", "") in html
        assert not PlaybookDelta.objects.exists()

    def test_a_viewer_is_refused(self, browser_of, project):
        viewer = browser_of(Role.VIEWER)
        url = reverse("admin:playbook_playbook_import")

        answer = viewer.post(url, {"project": project.pk, "content": "[a-1] :: b"})

        assert answer.status_code == 403
        assert not PlaybookDelta.objects.exists()
