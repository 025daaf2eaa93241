from __future__ import annotations

import pytest

from ace import executor
from ace.task.analysis import TaskAnalysis
from ace.task.task import Task
from context import task_records
from memories.models import Memory
from memories.read import search
from memories.store import write
from memories.store.drafts import Draft
from memories.store.search_columns import CORPUS
from search import statistics

URL = "/api/v1/context"


@pytest.fixture
def finish(project, alice):
    """Store the record of a finished task."""

    def store(goal, result, outcome="success", source="human", **texts):
        draft = Draft(
            content=f"{goal} {result}",
            memory_type="learning",
            goal=goal,
            result=result,
            metadata={"outcome": outcome, "feedback_source": source},
            **texts,
        )
        return str(write.store(project, draft, alice).memory.pk)

    return store


@pytest.fixture
def ask(project, alice):
    """Return the ids of the hits that tell a task something."""

    def ask(task):
        hits = search.find(project, search.MemorySearch(task), alice).hits
        return {
            str(hit.memory.pk)
            for hit in task_records._drop_routine(project, task, hits)
        }

    return ask


class TestContext:
    GOAL = "Make the invoice export retry"

    @pytest.fixture
    def context(self, alice_api, project):
        def context(task, **more):
            body = {"project_id": str(project.pk), "task_description": task}
            return alice_api.post(URL, body | more).json()

        return context

    def test_routine_records_come_last_and_the_others_are_counted(
        self, finish, context
    ):
        for number in range(5):
            finish(f"{self.GOAL} {number} times", f"It retries {number} times now.")
        lesson = finish(
            f"{self.GOAL} at night",
            "It retries.",
            lessons="The gateway sleeps at night.",
        )

        answer = context(self.GOAL, top_k=10)

        ids = [found["memory"]["id"] for found in answer["memories"]]
        assert ids[0] == lesson
        assert len(ids) == 1 + task_records.MAX_ROUTINE
        assert "3 records of finished tasks were left out" in " ".join(answer["notes"])

    def test_a_small_store_is_given_whole(self, finish, context, project, alice):
        record = finish(self.GOAL, "It retries now.")
        draft = Draft(content="Cranes lift barges at noon.", memory_type="learning")
        other = str(write.store(project, draft, alice).memory.pk)

        answer = context(self.GOAL)

        assert {found["memory"]["id"] for found in answer["memories"]} == {
            record,
            other,
        }
        assert "Cranes lift barges at noon." in answer["text"]

    def test_a_larger_store_is_searched(self, context, project, alice):
        for number in range(13):
            draft = Draft(
                content=f"Crane number{number} lifts barges.", memory_type="learning"
            )
            write.store(project, draft, alice)

        assert context("paint the harbour office")["memories"] == []


class TestRecords:
    def test_one_that_only_says_that_a_task_is_done_is_left_out(self, finish, ask):
        finish("Make the invoice export retry", "It retries now.")

        assert ask("make the invoice export retry") == set()

    def test_one_that_teaches_or_failed_is_given(self, finish, ask):
        given = {
            finish(
                "Make the invoice export retry",
                "It retries.",
                lessons="The gateway answers 503 for a minute after midnight.",
            ),
            finish(
                "Make the invoice export retry twice",
                "It retries twice.",
                feedback="Never retry a payment.",
            ),
            finish("Make the invoice export parallel", "The lock was lost.", "failure"),
        }

        assert ask("make the invoice export retry") == given

    def test_one_that_answered_the_same_request_is_given(self, finish, ask):
        asked = "Make the invoice export retry"
        same = finish(
            asked, "The export now retries three times, with a minute between."
        )
        finish("Make the invoice export retry twice", "It retries twice, at once, now.")

        assert ask("make the  invoice export retry") == {same}

    def test_one_of_a_failed_task_is_given_as_failed(self, project, alice, alice_api):
        task = Task(
            goal="Make the invoice export parallel",
            result="The lock was lost.",
            feedback="",
            outcome="failure",
        )
        draft = executor.draft_of(
            TaskAnalysis(task), alice, project=project, agent_id="coder"
        )
        write.store(project, draft, alice)
        body = {"project_id": str(project.pk), "task_description": task.goal}

        answer = alice_api.post(URL, body).json()

        assert "failure: " in answer["text"]

    def test_what_an_agent_passes_on_as_feedback_teaches_nothing(self, finish, ask):
        finish(
            "Make the invoice export retry",
            "The invoice export retries now.",
            feedback="ok, now commit",
            source="agent",
        )

        assert ask("make the invoice export retry") == set()

    @pytest.mark.parametrize(
        "name", ["-c", "cmd/", ".shop", "main()", "shop/export.py", "export.py"]
    )
    def test_a_flag_a_path_or_a_word_names_nothing_rare(self, finish, ask, name):
        finish(f"Pass {name} to the invoice export", f"It takes {name} now.")

        assert ask(f"pass {name} to the invoice export again") == set()

    def test_one_that_names_the_rare_thing_of_the_task_is_given(self, finish, ask):
        named = finish(
            "Split SHOP-118 into parts of the invoice export",
            "SHOP-118 has three parts; the invoice export comes first.",
        )
        finish("Split the order export into parts", "The order export has two parts.")

        assert ask("where were we with SHOP-118, the invoice export?") == {named}

    def test_a_name_that_many_memories_have_is_not_rare(self, finish, ask, project):
        for number in range(6):
            goal = f"Show step {number} of the invoice export in `bulk-mode`"
            finish(goal, f"bulk-mode shows step {number} of the invoice export.")
        statistics.rebuild(Memory.objects.all(), project_id=project.pk, name=CORPUS)

        assert ask("show each step of the invoice export in bulk-mode") == set()
