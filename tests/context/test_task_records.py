from __future__ import annotations

import pytest

from ace import executor
from ace.rules.task import Task
from memories.models import Memory
from memories.store import write
from memories.store.drafts import Draft
from memories.store.search_columns import CORPUS
from search import statistics

URL = "/api/v1/context/task"


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
def ask(alice_api, project):
    def post(task):
        body = {"project_id": str(project.pk), "task_description": task}
        found = alice_api.post(URL, body).json()["memories"]
        return {hit["memory"]["id"] for hit in found}

    return post


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
        draft = executor.draft_of(task, alice, project=project, agent_id="coder")
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
