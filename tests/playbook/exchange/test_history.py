from __future__ import annotations

import json

import pytest

from audit.models import AuditEvent
from common.caller import Caller, Role
from playbook.exchange import import_playbook, restore_history
from playbook.history import replay, votes
from playbook.history.revision import Cause
from playbook.history.votes import Vote
from playbook.models import (
    Anchor,
    Conflict,
    Playbook,
    PlaybookChange,
    PlaybookDelta,
    PlaybookEntry,
)
from playbook.proposals import person_edits, submission
from playbook.review import resolve_conflict, revert
from projects.models import Project
from tests.playbook.conftest import apply_beside
from tests.playbook.exchange.sample_rules import RULES


@pytest.fixture
def lived(project, playbook, alice, bob, memory, learned, write):
    """A playbook with a bit of everything in its history."""
    one, two, three, *_ = playbook.values()
    cause = Cause(reason="used", memory_id=memory.pk, run_id=memory.pk)
    votes.record(project, [Vote(one.pk, "helpful")], [one.pk, two.pk], cause, bob)
    merge = person_edits.person_proposal(
        "merge",
        {"content": f"{two.content} {three.content}"},
        alice,
        reason="one",
        entry=two,
        targets=({"id": str(three.pk), "version": three.version},),
    )
    merged = person_edits.submit_edit(project, merge, alice)
    submission.propose(project, [learned("Run `make lint` before `git push`.")], bob)
    gone = write("Always drink 2 cups of tea.", condition="At noon")
    change = person_edits.change(gone, {"pinned": True}, alice, reason="", version=None)
    pinned = person_edits.submit_edit(project, change, alice)
    removal = person_edits.removal(gone, alice, reason="no", version=None)
    person_edits.submit_edit(project, removal, alice)
    revert.undo_delta(merged, alice, reason="two after all")
    return pinned


@pytest.fixture
def empty(organization):
    return Project.objects.create(organization=organization, name="beta")


@pytest.fixture
def owner(project, empty):
    return Caller(name="olga", roles={project.pk: Role.OWNER, empty.pk: Role.OWNER})


@pytest.fixture
def restore(owner, empty):
    def put(content, caller=owner, into=empty):
        return import_playbook.import_text(into, content, caller, format="json")

    return put


class TestRoundTrip:
    def test_it_gives_the_same_bytes_in_every_format(
        self, lived, exported, restore, empty, owner
    ):
        whole = exported("json")

        restored = restore(whole)

        assert restored.restored == PlaybookEntry.objects.filter(project=empty).count()
        for format in ("json", "ace", "agents-md"):
            assert exported(format, of=empty, by=owner) == exported(format)

    def test_replay_is_the_present_there(self, lived, exported, restore, empty):
        restore(exported("json"))

        assert replay.snapshot_at(empty) == replay.current_snapshot(empty)
        live = PlaybookEntry.objects.filter(project=empty).current()
        assert Playbook.objects.get(project=empty).tokens == sum(
            entry.tokens for entry in live
        )

    def test_a_label_is_not_used_again(self, lived, exported, restore, empty, owner):
        restore(exported("json"))

        new = person_edits.addition(
            {"content": "Sing to the build at 9.", "category": "gotchas"},
            owner,
            reason="",
        )
        entry = person_edits.submit_edit(empty, new, owner).entry

        number = Playbook.objects.get(project=empty).next_label - 1
        assert entry.label == f"gotchas-{number:05d}"

    def test_its_entries_follow_their_files(self, lived, exported, restore, empty):
        restore(exported("json"))

        named = Anchor.objects.filter(project_id=empty.pk).values("file_path")
        assert {"file_path": "/etc/app.conf"} in named

    def test_its_deltas_can_be_undone_there(
        self, lived, exported, restore, empty, owner, playbook
    ):
        restore(exported("json"))
        label = playbook["gotchas-00008"].label
        delta = PlaybookDelta.objects.get(
            project=empty, operation="add", entry__label=label
        )

        revert.undo_delta(delta, owner)

        entry = PlaybookEntry.objects.get(project=empty, label=label)
        assert entry.status == "deleted"

    def test_a_rule_that_superseded_another_when_it_was_added(
        self, project, bob, alice, write, learned, exported, restore, empty, owner
    ):
        older = write("Always run the migrations before the tests.")
        opposite = older.content.replace("Always", "Never")
        submission.propose(project, [learned(opposite)], bob)
        resolve_conflict.supersede(Conflict.objects.get(), alice)

        restore(exported("json"))

        assert exported("json", of=empty, by=owner) == exported("json")
        loser = PlaybookEntry.objects.get(project=empty, label=older.label)
        assert loser.superseded_by and loser.superseded_by.content == opposite

    def test_active_rules_that_contradict_each_other_are_in_a_conflict(
        self, project, bob, alice, write, learned, exported, restore, empty
    ):
        older = write("Always run the migrations before the tests.")
        opposite = older.content.replace("Always", "Never")
        [delta] = submission.propose(project, [learned(opposite)], bob)
        apply_beside(delta, alice)

        result = restore(exported("json"))

        conflict = Conflict.objects.get(project=empty)
        assert conflict.left.content == older.content
        assert conflict.right.content == opposite
        assert "contradict each other" in " ".join(result.notes)

    def test_memories_and_quotes_stay(self, lived, exported, restore, empty, memory):
        whole = exported("json")
        restore(whole)

        assert str(memory.pk) not in whole
        assert memory.content not in whole
        changes = PlaybookChange.objects.filter(project_id=empty.pk)
        assert not changes.exclude(related_memory_id=None).exists()

    def test_it_is_audited(self, lived, exported, restore, empty):
        restore(exported("json"))

        told = AuditEvent.objects.get(verb="playbook.restore_history")
        assert (told.project_id, told.actor) == (empty.pk, "olga")

    def test_an_empty_playbook_is_restored_empty(self, exported, restore, empty, owner):
        assert restore(exported("json")).restored == 0
        assert exported("json", of=empty, by=owner) == exported("json")


class TestAsLines:
    def test_into_a_playbook_it_waits(self, lived, exported, restore, empty, owner):
        new = {"content": "Sing to the build at 9.", "category": "gotchas"}
        person_edits.submit_edit(
            empty, person_edits.addition(new, owner, reason=""), owner
        )

        imported = restore(exported("json"))

        assert imported.restored is None
        assert {(c.operation, c.status) for c in imported.deltas} == {
            ("add", "pending")
        }
        assert PlaybookEntry.objects.filter(project=empty).count() == 1

    def test_a_writers_waits(self, lived, exported, restore, empty):
        writer = Caller(name="walter", roles={empty.pk: Role.WRITER})

        imported = restore(exported("json"), writer)

        assert imported.restored is None
        assert imported.notes[0] == import_playbook.AS_LINES
        assert not PlaybookEntry.objects.filter(project=empty).exists()


def _a_successor_of_a_later_revision(document):
    document["changes"][0]["after"]["superseded_by"] = document["changes"][-1]["entry"]


def _another_end(document):
    document["entries"][0]["content"] = "Something else, 7 times."


def _a_gap(document):
    del document["changes"][1]


def _a_label_to_come(document):
    document["next_label"] = 2


def _a_strange_column(document):
    document["changes"][0]["after"]["id"] = "x"


def _a_moment_of_elsewhere(document):
    document["changes"][0]["changed_at"] = "2026-01-31T09:00:00+02:00"


def _a_lost_successor(document):
    document["changes"][0]["after"]["superseded_by"] = "gotchas-00099"


class TestRefusing:
    @pytest.mark.parametrize(
        "spoil",
        [
            _another_end,
            _a_gap,
            _a_label_to_come,
            _a_strange_column,
            _a_moment_of_elsewhere,
            _a_lost_successor,
            _a_successor_of_a_later_revision,
        ],
    )
    def test_a_history_that_was_changed(
        self, lived, exported, restore, empty, alice, spoil
    ):
        document = json.loads(exported("json"))
        spoil(document)

        with pytest.raises(import_playbook.json_format.BrokenHistory):
            restore(json.dumps(document))

        assert not PlaybookEntry.objects.filter(project=empty).exists()

    def test_one_that_does_not_fit_the_budget(self, lived, exported, restore, empty):
        empty.settings = {"budgets": {"playbook_tokens": 100}}
        empty.save()

        with pytest.raises(restore_history.OverBudget):
            restore(exported("json"))

    def test_one_with_a_secret(self, lived, exported, restore):
        secret = "ghp_" + "a1B2" * 9

        with pytest.raises(restore_history.SecretFound):
            restore(exported("json").replace("show_api_doc", secret))


def test_only_what_is_visible_is_exported(playbook, project, charlie, exported):
    with pytest.raises(import_playbook.errors.NotFound):
        exported("json", by=charlie)


def test_the_view_returns_each_format_with_its_media_type(playbook, project, bob_api):
    kinds = {}
    for format in ("ace", "json", "agents-md"):
        query = {"project_id": str(project.pk), "format": format}
        answer = bob_api.get("/api/v1/playbook/export", query)
        kinds[format] = answer.headers["Content-Type"]
        assert RULES[0][:20] in answer.content.decode()

    assert kinds == {
        "ace": "text/plain; charset=utf-8",
        "json": "application/json",
        "agents-md": "text/markdown; charset=utf-8",
    }
