from __future__ import annotations

import uuid

import pytest

from common.errors import NotFound
from inference.embedding.fake import outage
from playbook.history.votes import Vote
from playbook.learning import learn
from playbook.models import EntryVector, PlaybookChange, PlaybookDelta, PlaybookEntry
from playbook.proposals import submission
from playbook.review import decide

FIRST = "When calling `edit_file`, pass `path` instead of `file`."
SECOND = "Run `make lint` before you push to the `main` branch."


def entries():
    return PlaybookEntry.objects.light().order_by("pk")


class TestCurate:
    def test_it_adds_what_a_task_teaches(self, project, bob, lesson, run, memory):
        learned = lesson(FIRST, condition="calling `edit_file`", action="pass `path`")

        curated = learn.learn_from_task(
            project, [learned], [], run=run(learned), caller=bob
        )

        [entry] = entries()
        assert [d.operation for d in curated.deltas] == ["add"]
        assert [c.action for c in curated.changes] == ["add", "support"]
        assert curated.updated_entries == [entry]
        assert entry.condition == "calling `edit_file`"
        assert entry.supporting_memory_ids == [str(memory.pk)]
        assert EntryVector.objects.filter(entry=entry).exists()

    def test_it_changes_nothing_when_it_is_run_again(
        self, project, bob, lesson, run, write
    ):
        used = write("Keep the `uv.lock` file up to date.")
        learned, task = lesson(FIRST), run(lesson(FIRST))
        args = (project, [learned], [Vote(used.pk, "helpful")], [used.pk])
        first = learn.learn_from_task(*args, run=task, caller=bob)

        second = learn.learn_from_task(*args, run=task, caller=bob)

        assert [d.pk for d in second.deltas] == [d.pk for d in first.deltas]
        assert [c.pk for c in second.changes] == [c.pk for c in first.changes]
        used.refresh_from_db()
        assert (used.helpful, entries().count()) == (1, 2)

    def test_it_votes_for_an_entry_that_teaches_it_already(
        self, project, bob, lesson, run, write, memory
    ):
        entry = write(FIRST)
        again = lesson(FIRST.upper())

        curated = learn.learn_from_task(
            project, [again], [], run=run(again), caller=bob
        )

        entry.refresh_from_db()
        assert [d.operation for d in curated.deltas] == ["vote"]
        assert (entry.helpful, entry.content) == (1, FIRST)
        assert entry.supporting_memory_ids == [str(memory.pk)]

    def test_it_files_a_lesson_of_a_section_that_the_project_lacks(
        self, project, bob, lesson, run, set_options
    ):
        set_options(categories=["tags", "general"])
        learned = lesson(FIRST, category="gotchas")

        learn.learn_from_task(project, [learned], [], run=run(learned), caller=bob)

        assert entries().get().category == "general"

    def test_it_embeds_later_what_it_could_not_embed(
        self, project, bob, lesson, run, run_jobs, alice
    ):
        learned = lesson(FIRST)
        with outage():
            curated = learn.learn_from_task(
                project, [learned], [], run=run(learned), caller=bob
            )
            decide.accept(curated.deltas[0], alice)
        assert not EntryVector.objects.exists()

        run_jobs()

        assert EntryVector.objects.get().entry == entries().get()


class TestRetiring:
    def harm(self, project, bob, entry, run, times):
        for _ in range(times):
            curated = learn.learn_from_task(
                project, [], [Vote(entry.pk, "harmful")], run=run(), caller=bob
            )
        return curated

    def test_it_proposes_to_deprecate_what_its_votes_refute(
        self, project, bob, write, run
    ):
        entry = write(author_kind="rule")

        curated = self.harm(project, bob, entry, run, 5)

        [delta] = curated.deltas
        assert (delta.operation, delta.status) == ("deprecate", "pending")
        assert "harmful 5 times" in delta.reason

    def test_it_proposes_it_once(self, project, bob, write, run):
        entry = write(author_kind="rule")

        self.harm(project, bob, entry, run, 8)

        assert PlaybookDelta.objects.filter(operation="deprecate").count() == 1

    def test_it_retires_by_itself_where_the_policy_is_auto_and_many_are_left(
        self, project, bob, write, run, set_options
    ):
        set_options(policy="auto")
        for n in range(40):
            write(f"Run `step_{n}` before all the others.")
        entry = write(author_kind="rule")

        self.harm(project, bob, entry, run, 5)

        entry.refresh_from_db()
        assert entry.status == "deprecated"

    def test_it_spares_what_a_person_wrote(self, project, bob, write, run):
        entry = write()

        curated = self.harm(project, bob, entry, run, 6)

        assert curated.deltas == []


class TestHistory:
    def test_it_names_run_memory_and_agent_in_every_change(
        self, project, bob, lesson, run, memory
    ):
        learned = lesson(FIRST)
        task = run(learned, agent_id="agent-7")

        learn.learn_from_task(project, [learned], [], run=task, caller=bob)

        rows = PlaybookChange.objects.values_list(
            "run_id", "related_memory_id", "agent_id"
        )
        assert set(rows) == {(task.id, memory.pk, "agent-7")}

    def test_it_refuses_a_stranger(self, project, charlie, lesson, run):
        with pytest.raises(NotFound):
            learn.learn_from_task(
                project, [lesson()], [], run=run(lesson()), caller=charlie
            )


def test_a_proposal_without_a_run_is_no_vote(project, bob, write, learned):
    write(FIRST)

    [delta] = submission.propose(project, [learned(FIRST, run_id=None)], bob)

    assert (delta.operation, delta.status) == ("add", "rejected")
    assert uuid.UUID(delta.idempotency_key)
