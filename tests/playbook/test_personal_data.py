from __future__ import annotations

import pytest

from common.caller import Role
from common.erasure import redaction
from inference.embedding import active_model
from inference.embedding.fake import outage
from memories.models import Memory
from memories.retention import erase
from playbook import delta_vectors
from playbook.history import replay, votes
from playbook.history.revision import Cause, PurgedEntry
from playbook.lessons import memory_removal, person_edits
from playbook.models import (
    DeltaVector,
    PlaybookChange,
    PlaybookDelta,
    PlaybookEntry,
    Support,
)
from playbook.review import decide, revert

API = "/api/v1"
TEXT = "Pass `path` to edit_file, as the flu of Bob has shown."


@pytest.fixture
def memory(bob_api, project):
    body = {
        "project_id": str(project.pk),
        "memory_type": "learning",
        "content": "Bob has the flu. " + TEXT,
    }
    answer = bob_api.post(f"{API}/memories", body)
    return Memory.objects.get(pk=answer.json()["id"])


@pytest.fixture
def lesson(project, memory):
    """What a proposal of the memory says, with its quote as evidence."""
    start = memory.content.index(TEXT)
    quote = {
        "field": "content",
        "start": start,
        "end": start + len(TEXT),
        "quote": TEXT,
    }
    return {
        "project_id": str(project.pk),
        "operation": "add",
        "category": "gotchas",
        "content": TEXT,
        "tags": ["bob"],
        "memory_id": str(memory.pk),
        "evidence": [quote],
        "reason": "Bob said so.",
    }


@pytest.fixture
def learned(client_of, project, lesson):
    """An entry that was learned from the memory."""
    curator = client_of(project, role=Role.CURATOR)
    answer = curator.post(f"{API}/proposals", lesson)
    assert answer.status_code == 201, answer.content
    delta = PlaybookDelta.objects.get(pk=answer.json()["id"])
    if delta.status == PlaybookDelta.DeltaStatus.PENDING:
        accepted = client_of(project).post(f"{API}/proposals/{delta.pk}/accept")
        assert accepted.status_code == 200, accepted.content
        delta.refresh_from_db()
    return delta


@pytest.fixture
def purge(project, alice, memory):
    def purge(cascade):
        return erase.purge(
            project, {"ids": [memory.pk]}, alice, reason="asked", cascade=cascade
        )

    return purge


def second_memory(api, project):
    body = {
        "project_id": str(project.pk),
        "memory_type": "learning",
        "content": "The linter has found three mistakes today",
    }
    return api.post(f"{API}/memories", body).json()["id"]


class TestReview:
    def test_the_quote_goes_and_the_entry_waits_for_a_person(self, learned, purge):
        purge(cascade=False)

        learned.refresh_from_db()
        assert redaction.is_redacted(learned.evidence[0]["quote"])
        assert learned.entry.content == TEXT
        asked = PlaybookDelta.objects.pending().get()
        assert (asked.operation, asked.entry_id) == ("deprecate", learned.entry_id)

    def test_the_receipt_names_the_entry(self, learned, purge):
        receipt = purge(cascade=False)

        assert receipt.descendants == [
            {
                "kind": "playbook_entry",
                "id": str(learned.entry_id),
                "how": "learned from it",
                "is_purged": False,
            }
        ]

    def test_the_memory_no_longer_supports_it(self, learned, purge, project):
        assert Support.objects.exists()

        purge(cascade=False)

        assert not Support.objects.exists()
        assert replay.snapshot_at(project) == replay.current_snapshot(project)

    def test_a_person_is_asked_once(self, learned, purge):
        purge(cascade=False)
        purge(cascade=False)

        assert PlaybookDelta.objects.pending().count() == 1

    def test_an_owner_may_accept(self, learned, purge, alice):
        purge(cascade=False)

        decide.accept(PlaybookDelta.objects.pending().get(), alice)

        learned.entry.refresh_from_db()
        assert learned.entry.status == PlaybookEntry.EntryStatus.DEPRECATED


class TestForgetting:
    """A proposal to delete a memory has no reason left once the memory is purged."""

    @pytest.mark.parametrize("cascade", [False, True])
    def test_the_proposal_is_withdrawn_and_its_words_go(
        self, memory, purge, bob, cascade
    ):
        delta = memory_removal.propose_removal(memory, bob, reason="Bob is well.")

        purge(cascade=cascade)

        delta.refresh_from_db()
        assert (delta.status, delta.review_note) == (
            "rejected",
            redaction.redact("Its source was purged."),
        )
        assert delta.reason == redaction.redact("Bob is well.")


class TestCascade:
    def test_the_entry_is_purged_with_its_history(self, learned, purge):
        receipt = purge(cascade=True)

        entry = PlaybookEntry.objects.get(pk=learned.entry_id)
        assert entry.content == redaction.redact(TEXT)
        assert (entry.status, entry.tags) == ("deleted", [])
        added = PlaybookChange.objects.get(entry_id=entry.pk, action="add")
        assert added.after["content"] == entry.content
        assert not entry.vectors.exists()
        assert receipt.counts["playbook_playbookentry"] == 1

    def test_a_run_of_another_memory_tells_its_text_no_more(
        self, learned, purge, alice_api, project
    ):
        task = {
            "project_id": str(project.pk),
            "goal": "Rename the harbour",
            "outcome": "success",
            "cited_entry_ids": [str(learned.entry_id)],
        }
        result = alice_api.post(f"{API}/complete-task", task).json()
        assert [told["content"] for told in result["updated_bullets"]] == [TEXT]

        purge(cascade=True)

        run = alice_api.get(f"{API}/runs/{result['run_id']}").json()
        [told] = run["result"]["updated_bullets"]
        assert told["content"] == redaction.redact(TEXT)
        assert told["id"] == str(learned.entry_id)
        assert run["request"]["goal"] == task["goal"]

    def test_a_vector_that_is_on_its_way_is_not_kept(
        self, lesson, purge, bob_api, project, monkeypatch, run_jobs
    ):
        with outage():
            bob_api.post(f"{API}/proposals", lesson)
        PlaybookDelta.objects.update(status="pending")
        delta_vectors.embed_later(project.pk)
        begin = active_model.begin_chunks

        def begin_before_the_purge(texts):
            pending = begin(texts)
            if TEXT in texts:
                purge(cascade=True)
            return pending

        monkeypatch.setattr(active_model, "begin_chunks", begin_before_the_purge)
        run_jobs()

        assert redaction.is_redacted(PlaybookDelta.objects.get().content)
        assert not DeltaVector.objects.exists()

    def test_a_repeated_request_tells_what_to_do_no_more(self, lesson, purge, bob_api):
        body = lesson | {"condition": "the flu is about", "action": "send Bob home"}
        sent = {"HTTP_IDEMPOTENCY_KEY": "d1"}
        bob_api.post(f"{API}/proposals", body, **sent)

        purge(cascade=True)

        told = bob_api.post(f"{API}/proposals", body, **sent).json()["payload"]
        assert told["condition"] == redaction.redact("the flu is about")
        assert told["action"] == redaction.redact("send Bob home")

    def test_replay_still_rebuilds_the_playbook(self, learned, purge, project):
        before = replay.snapshot_at(project)

        purge(cascade=True)

        after = replay.snapshot_at(project)
        assert after == replay.current_snapshot(project)
        assert after.keys() == before.keys()

    def test_an_entry_that_others_support_is_left_to_a_person(
        self, memory, purge, write, bob_api, project, alice
    ):
        entry = write("Run the linter before each commit, Bob has said.")
        for pk in (memory.pk, second_memory(bob_api, project)):
            votes.record(entry.project, [], [entry.pk], Cause(memory_id=pk), alice)

        purge(cascade=True)

        entry.refresh_from_db()
        assert entry.status == PlaybookEntry.EntryStatus.ACTIVE
        assert PlaybookDelta.objects.pending().get().entry_id == entry.pk

    def test_neither_restore_nor_revert_brings_it_back(
        self, learned, purge, alice, project
    ):
        purge(cascade=True)
        entry = PlaybookEntry.objects.get(pk=learned.entry_id)
        deleted = PlaybookChange.objects.get(entry_id=entry.pk, action="delete")

        with pytest.raises(PurgedEntry):
            person_edits.submit_edit(
                project,
                person_edits.person_change(
                    "restore", {}, alice, entry=entry, reason="again"
                ),
                alice,
            )
        with pytest.raises(PurgedEntry):
            revert.revert_changes(
                project, revert.change_target(project, deleted.pk, alice), alice
            )
