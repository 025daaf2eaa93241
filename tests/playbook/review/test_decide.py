from __future__ import annotations

import uuid

import pytest

from access import keys
from audit.models import AuditEvent
from common.caller import Caller, Role
from common.errors import Forbidden, NotFound, StaleVersion
from playbook.history.operations import EntryState
from playbook.history.revision import DuplicateEntry, OverBudget
from playbook.lessons import person_edits
from playbook.models import Playbook, PlaybookChange, PlaybookDelta, PlaybookEntry
from playbook.review import available, bulk, decide
from projects.secret_policy import SecretFound
from tests.playbook.conftest import propose


@pytest.fixture
def waiting(project, bob, learned):
    """A delta of Bob's agent that waits for a person."""

    def make(*args, **fields):
        proposal = learned(*args, **{"feedback_source": "agent"} | fields)
        return propose(project, [proposal], bob)[0]

    return make


class TestAccepting:
    def test_it_adds_the_entry_with_its_history(self, waiting, alice, memory):
        delta = decide.accept(waiting(memory_id=memory.pk), alice, note="Good.")

        entry = PlaybookEntry.objects.get()
        changes = PlaybookChange.objects.in_order()
        assert (delta.status, delta.reviewer) == ("accepted", "alice")
        assert (entry.label, entry.author_kind) == ("gotchas-00001", "rule")
        assert entry.supporting_memory_ids == [str(memory.pk)]
        assert [(c.revision, c.position, c.action) for c in changes] == [
            (1, 0, "add"),
            (1, 1, "support"),
        ]
        assert {c.delta_id for c in changes} == {delta.pk}
        assert AuditEvent.objects.filter(
            verb="playbook.add", object_id=entry.pk, actor="alice"
        ).exists()

    def test_it_refuses_a_second_decision(self, waiting, alice):
        delta = waiting()
        decide.accept(delta, alice)

        with pytest.raises(available.DeltaState, match="accepted by alice"):
            decide.accept(delta, alice)

    def test_it_refuses_a_writer_and_a_stranger(self, waiting, bob, charlie):
        delta = waiting()

        with pytest.raises(Forbidden):
            decide.accept(delta, bob)
        with pytest.raises(NotFound):
            decide.accept(delta, charlie)

    def test_it_refuses_a_key_its_own_delta(self, project, learned):
        key = Caller(
            name="agent", roles={project.pk: Role.CURATOR}, key_id=uuid.uuid4()
        )
        proposal = learned(feedback_source="agent")
        [delta] = propose(project, [proposal], key)

        with pytest.raises(available.OwnDelta):
            decide.accept(delta, key)

    def test_it_refuses_a_rotated_key_the_delta_of_its_former_self(
        self, client_of, project, learned
    ):
        before = client_of(project, role=Role.CURATOR).key
        after = keys.rotate(before).key
        roles = {project.pk: Role.CURATOR}
        old, new = (
            Caller(f"key:{key.prefix}", roles=roles, key_id=key.pk, line_id=key.line_id)
            for key in (before, after)
        )
        proposal = learned(feedback_source="agent")
        [delta] = propose(project, [proposal], old)

        with pytest.raises(available.OwnDelta):
            decide.accept(delta, new)

    def test_it_renews_a_delta_when_the_entry_has_changed(
        self, waiting, write, alice, project
    ):
        entry = write(author_kind="rule")
        text = f"{entry.content} It knows no `file`."
        delta = waiting(
            text, operation="update", entry=entry, expected_version=entry.version
        )
        changed = person_edits.change(
            entry, {"priority": 3}, alice, reason="", version=None
        )
        person_edits.submit_edit(project, changed, alice)

        with pytest.raises(StaleVersion) as refused:
            decide.accept(delta, alice)

        delta.refresh_from_db()
        assert delta.status == "pending"
        assert refused.value.extra["current_version"] == 2

    def test_it_refuses_what_another_entry_says_by_now(self, waiting, write, alice):
        delta = waiting()
        write()

        with pytest.raises(DuplicateEntry):
            decide.accept(delta, alice)

        assert PlaybookDelta.objects.get(pk=delta.pk).status == "pending"

    def test_it_keeps_to_the_budget(self, waiting, alice, set_options):
        delta = waiting("Run `make lint` before you push" + " configuration" * 40)
        set_options(budgets={"playbook_tokens": 100})

        with pytest.raises(OverBudget):
            decide.accept(delta, alice)


class TestEditing:
    def test_it_adds_the_persons_words_as_the_persons(self, waiting, alice):
        text = "Pass `path` to `edit_file`."

        delta = decide.edit_and_accept(waiting(), {"content": text}, alice)

        entry = PlaybookEntry.objects.get()
        assert (delta.status, entry.content) == ("edited", text)
        assert entry.author_kind == "human"

    def test_it_refuses_a_secret(self, waiting, alice):
        text = "Use the token ghp_" + "a1B2" * 9

        with pytest.raises(SecretFound):
            decide.edit_and_accept(waiting(), {"content": text}, alice)


class TestRejecting:
    def test_it_keeps_the_reason(self, waiting, alice):
        delta = decide.reject(waiting(), alice, reason="It is too vague.")

        assert (delta.status, delta.review_note) == ("rejected", "It is too vague.")
        assert not PlaybookEntry.objects.exists()
        assert not PlaybookChange.objects.exists()


class TestBulk:
    def test_it_decides_about_each_on_its_own(self, waiting, project, alice):
        first = waiting("Run `make lint` before you push to the branch.")
        second = waiting("Keep the `uv.lock` file beside `pyproject.toml`.")
        decide.reject(second, alice, reason="no")
        unknown = uuid.uuid4()

        outcomes = bulk.decide_all(
            project, [first.pk, second.pk, unknown], "accept", alice
        )

        assert [outcome.status for outcome in outcomes] == [
            "accepted",
            "refused",
            "refused",
        ]
        assert [o.refusal.code for o in outcomes[1:]] == ["delta_state", "not_found"]


class TestEditsByPeople:
    def test_it_applies_a_curators_edit_at_once(self, write, project, alice):
        entry = write()
        wanted = person_edits.change(
            entry,
            {"content": "Pass `path`.", "tags": ["x"]},
            alice,
            reason="Shorter.",
            version=1,
        )

        delta = person_edits.submit_edit(project, wanted, alice)

        entry.refresh_from_db()
        change = PlaybookChange.objects.order_by("-revision").first()
        assert (delta.status, entry.version) == ("applied", 2)
        assert change.before["content"] != change.after["content"] == "Pass `path`."
        assert (change.reason, change.actor) == ("Shorter.", "alice")

    def test_it_keeps_a_writers_edit_waiting(self, write, project, bob):
        entry = write()
        wanted = person_edits.change(
            entry, {"content": "Pass `path`."}, bob, reason="", version=None
        )

        delta = person_edits.submit_edit(project, wanted, bob)

        entry.refresh_from_db()
        assert (delta.status, entry.version) == ("pending", 1)

    def test_it_refuses_a_stale_version_with_the_current_one(
        self, write, project, alice
    ):
        entry = write()

        def edit():
            wanted = person_edits.change(
                entry, {"priority": 1}, alice, reason="", version=1
            )
            person_edits.submit_edit(project, wanted, alice)

        edit()
        with pytest.raises(StaleVersion) as refused:
            edit()

        assert refused.value.extra["current_version"] == 2

    def test_it_deletes_once(self, write, project, alice):
        entry = write()

        def remove():
            wanted = person_edits.removal(entry, alice, reason="", version=None)
            person_edits.submit_edit(project, wanted, alice)

        remove()
        with pytest.raises(EntryState):
            remove()

        assert PlaybookEntry.objects.get().status == "deleted"
        assert Playbook.objects.get().tokens == 0


class TestLabels:
    def test_it_never_uses_a_label_twice(self, write, project, alice):
        first = write()
        wanted = person_edits.removal(first, alice, reason="", version=None)
        person_edits.submit_edit(project, wanted, alice)

        second = write()

        assert [first.label, second.label] == ["gotchas-00001", "gotchas-00002"]

    def test_it_counts_all_sections_together(self, write):
        write("Run `make lint` before you push.")
        other = write("Keep the lock file up to date.", category="best_practices")

        assert other.label == "best-practices-00002"


class TestTokens:
    def test_it_knows_the_live_tokens_exactly(self, write, project, alice):
        kept = write("Run `make lint` before you push.")
        gone = write("Keep the lock file up to date.")
        wanted = person_edits.removal(gone, alice, reason="", version=None)
        person_edits.submit_edit(project, wanted, alice)

        assert Playbook.objects.get().tokens == kept.tokens > 0


class TestMerging:
    def test_it_sums_counters_and_keeps_labels_and_supports(
        self, write, project, alice, memory
    ):
        kept = write("Run `make lint` before you push.")
        taken = write("Run `make lint` before each push.", tags=["ci"])
        PlaybookEntry.objects.filter(pk=taken.pk).update(helpful=2, harmful=1)
        wanted = person_edits.person_change(
            "merge",
            {"content": "Run `make lint` before every push."},
            alice,
            entry=kept,
            targets=({"id": str(taken.pk), "version": 1},),
            memory_id=memory.pk,
        )

        person_edits.submit_edit(project, wanted, alice)

        kept.refresh_from_db()
        taken.refresh_from_db()
        assert (kept.helpful, kept.harmful, kept.tags) == (2, 1, ["ci"])
        assert (kept.aliases, kept.merged_from) == ([taken.label], [taken.pk])
        assert (taken.status, taken.superseded_by_id) == ("superseded", kept.pk)
        assert kept.supporting_memory_ids == [str(memory.pk)]
