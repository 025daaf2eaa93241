from __future__ import annotations

import pytest

from common.errors import NotFound
from inference.embedding.fake import outage
from playbook.history.votes import Vote
from playbook.lessons import learn
from playbook.models import EntryVector, PlaybookChange, PlaybookDelta, PlaybookEntry
from playbook.review import decide
from tests.playbook.conftest import lesson, occasion

FIRST = "When calling `edit_file`, pass `path` instead of `file`."
SECOND = "Run `make lint` before you push to the `main` branch."


def entries():
    return PlaybookEntry.objects.light().order_by("pk")


@pytest.fixture
def run(memory):
    """A finished task that says its lessons."""

    def make(*texts, **fields):
        return occasion(*texts, **{"memory_id": memory.pk} | fields)

    return make


@pytest.fixture
def curate(project, bob):
    def act(texts=(), votes=(), supported=(), *, at, **fields):
        taught = [lesson(text, **fields) for text in texts]
        return learn.learn(project, taught, votes, supported, at, bob)

    return act


class TestCurate:
    def test_it_adds_what_a_task_teaches(self, curate, run, memory):
        curated = curate(
            [FIRST],
            at=run(FIRST),
            tags=("edit",),
            applies_to=("tool:edit_file",),
            expires_when="branch x gone",
            confidence=0.8,
        )

        [entry], [delta] = entries(), curated.deltas
        assert (delta.operation, delta.kind, delta.confidence) == (
            "add",
            "procedure",
            0.8,
        )
        assert [c.action for c in curated.changes] == ["add", "support"]
        assert curated.updated_entries == [entry]
        assert (entry.tags, entry.applies_to) == (["edit"], ["tool:edit_file"])
        assert entry.expires_when == "branch x gone"
        assert entry.supporting_memory_ids == [str(memory.pk)]
        assert EntryVector.objects.filter(entry=entry).exists()

    def test_it_changes_nothing_when_it_is_run_again(self, curate, run, write):
        used = write("Keep the `uv.lock` file up to date.")
        at = run(FIRST)
        first, second = (
            curate([FIRST], [Vote(used.pk, "helpful")], [used.pk], at=at)
            for _ in range(2)
        )

        assert [d.pk for d in second.deltas] == [d.pk for d in first.deltas]
        assert [c.pk for c in second.changes] == [c.pk for c in first.changes]
        used.refresh_from_db()
        assert (used.helpful, entries().count()) == (1, 2)

    def test_it_votes_for_an_entry_that_teaches_it_already(
        self, curate, run, write, memory
    ):
        entry = write(SECOND)
        again = "run `make lint` before you push to the `main` branch"

        curated = curate([again], at=run(again))

        entry.refresh_from_db()
        assert [d.operation for d in curated.deltas] == ["vote"]
        assert (entry.helpful, entry.content) == (1, SECOND)
        assert entry.supporting_memory_ids == [str(memory.pk)]

    def test_the_agents_own_word_is_no_helpful_vote(self, curate, run, write):
        entry = write(SECOND)

        curate([SECOND], at=run(SECOND, speaker="agent", feedback_source="agent"))

        entry.refresh_from_db()
        assert (entry.helpful, entry.neutral) == (0, 1)

    def test_it_files_a_lesson_of_a_section_that_the_project_lacks(
        self, curate, run, set_options
    ):
        set_options(categories=["tags", "general"])

        curate([FIRST], at=run(FIRST))

        assert entries().get().category == "general"

    def test_it_embeds_later_what_it_could_not_embed(
        self, curate, run, run_jobs, alice
    ):
        with outage():
            curated = curate([FIRST], at=run(FIRST))
            decide.accept(curated.deltas[0], alice)
        assert not EntryVector.objects.exists()

        run_jobs()

        assert EntryVector.objects.get().entry == entries().get()

    def test_a_lesson_of_an_unknown_outcome_is_learned(self, curate, run):
        [delta] = curate([FIRST], at=run(FIRST, outcome="unknown")).deltas

        assert delta.status == "applied"


class TestRetiring:
    def harm(self, curate, entry, run, times):
        for _ in range(times):
            curated = curate(votes=[Vote(entry.pk, "harmful")], at=run())
        return curated

    def test_it_proposes_once_to_deprecate_what_its_votes_refute(
        self, curate, write, run
    ):
        entry = write(author_kind="rule")

        [delta] = self.harm(curate, entry, run, 5).deltas
        self.harm(curate, entry, run, 3)

        assert (delta.operation, delta.status) == ("deprecate", "pending")
        assert "harmful 5 times" in delta.reason
        assert PlaybookDelta.objects.filter(operation="deprecate").count() == 1

    def test_it_retires_by_itself_where_the_policy_is_auto_and_many_are_left(
        self, curate, write, run, set_options
    ):
        set_options(policy="auto")
        for n in range(40):
            write(f"Run `step_{n}` before all the others.")
        entry = write(author_kind="rule")

        self.harm(curate, entry, run, 5)

        entry.refresh_from_db()
        assert entry.status == "deprecated"

    def test_it_spares_what_a_person_wrote(self, curate, write, run):
        assert self.harm(curate, write(), run, 6).deltas == []


class TestHistory:
    def test_it_names_run_memory_and_agent_in_every_change(self, curate, run, memory):
        at = run(FIRST, agent_id="agent-7")

        curate([FIRST], at=at)

        rows = PlaybookChange.objects.values_list(
            "run_id", "related_memory_id", "agent_id"
        )
        assert set(rows) == {(at.id, memory.pk, "agent-7")}

    def test_it_refuses_a_stranger(self, project, charlie):
        with pytest.raises(NotFound):
            learn.learn(project, [lesson(FIRST)], [], [], occasion(FIRST), charlie)
