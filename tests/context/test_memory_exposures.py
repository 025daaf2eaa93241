"""What memories an agent was given, and how the task that followed used them."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone

from common.caller import Caller, Role
from common.ids import uuid7
from context import task_context
from context.task_context import AtHand
from memories import tasks
from memories.models import MemoryExposure
from memories.read import exposures
from memories.read.exposures import CreditedTask
from memories.scopes import Scope
from memories.store import write
from memories.store.drafts import Draft, FileRef

pytestmark = pytest.mark.django_db
TASK = "Retry the invoice export when the gateway answers 503"
TEXT = f"{TASK}: run `make export`."


@pytest.fixture
def memory(project, alice):
    draft = Draft(
        content=TEXT,
        memory_type="learning",
        files=(FileRef("billing/export.py", "modified"),),
    )
    return write.store(project, draft, alice).memory


@pytest.fixture
def ask(project):
    def ask(api):
        body = {"project_id": str(project.pk), "task_description": TASK}
        answer = api.post("/api/v1/context", body, format="json")
        assert [each["memory"]["id"] for each in answer.json()["memories"]]
        return answer

    return ask


@pytest.fixture
def complete(project):
    def complete(api, result="It is done.", *calls):
        task = {
            "project_id": str(project.pk),
            "goal": "Mend the export",
            "result": result,
            "tool_usage": list(calls),
        }
        answer = api.post("/api/v1/complete-task", task, format="json")
        assert answer.status_code == 200, answer.json()
        return answer.json()["run_id"]

    return complete


def bash(command):
    return {"tool_name": "Bash", "arguments": {"command": command}, "result": "ok"}


def read(path):
    return {"tool_name": "Read", "arguments": {"file_path": path}, "result": "x = 1"}


class TestUse:
    @pytest.mark.parametrize(
        ("calls", "use"),
        [
            ([bash("make export FORMAT=csv")], "command"),
            ([read("billing/export.py")], ""),
            ([bash("make exports"), read("billing/import.py")], ""),
        ],
    )
    def test_it_is_read_from_the_calls_of_the_next_task(
        self, memory, ask, complete, bob_api, calls, use
    ):
        ask(bob_api)

        run = complete(bob_api, "It is done.", *calls)

        row = MemoryExposure.objects.get(memory=memory)
        assert (str(row.run_id), row.used_as) == (run, use)
        assert row.request_id

    def test_the_file_of_a_memory_that_names_no_command_uses_it(
        self, project, alice, ask, complete, bob_api
    ):
        files = (FileRef("billing/export.py", "modified"),)
        draft = Draft(content=f"{TASK}.", memory_type="learning", files=files)
        write.store(project, draft, alice)
        ask(bob_api)

        complete(bob_api, "It is done.", read("billing/export.py"))

        assert MemoryExposure.objects.get().used_as == "file"

    def test_a_result_with_the_id_of_the_memory_cites_it(
        self, memory, ask, complete, bob_api
    ):
        ask(bob_api)

        complete(bob_api, f"Done as {memory.pk} says.")

        assert MemoryExposure.objects.get(memory=memory).used_as == "cited"

    def test_the_last_of_several_exposures_counts(self, memory, ask, complete, bob_api):
        ask(bob_api)
        ask(bob_api)

        complete(bob_api)
        complete(bob_api)

        assert MemoryExposure.objects.filter(memory=memory).count() == 1

    def test_what_another_key_was_given_is_not_credited(
        self, memory, ask, complete, bob_api, alice_api
    ):
        ask(bob_api)

        complete(alice_api, f"Done as {memory.pk} says.")

        assert MemoryExposure.objects.get(memory=memory).run_id is None

    def test_a_person_without_a_key_is_no_agent(self, memory, project, alice):
        task_context.for_task(project, TASK, alice)

        assert not MemoryExposure.objects.exists()


class TestCredit:
    @pytest.fixture
    def give(self, project, alice):
        """Give as many new memories to an agent as are asked for."""
        caller = Caller("key", roles={project.pk: Role.WRITER}, key_id=uuid7())

        def give(number):
            drafts = [
                Draft(content=f"{uuid7()} {TEXT}", memory_type="learning")
                for _ in range(number)
            ]
            given = [write.store(project, each, alice).memory.pk for each in drafts]
            exposures.record(project, given, caller, agent_id="a1")
            return CreditedTask(
                run_id=uuid7(),
                project=project,
                agent_id="a1",
                key_id=caller.key_id,
                at=timezone.now(),
                calls=["make export"],
            )

        return give

    def test_a_task_that_ends_at_the_same_time_keeps_its_rows(self, give):
        task, other, taken = give(1), uuid7(), []

        def credit_other(execute, sql, *rest):
            answer = execute(sql, *rest)
            if "memories_memoryexposure" in sql and not taken:
                taken.append(0)
                rows = MemoryExposure.objects.filter(run_id=None)
                taken[0] = rows.update(run_id=other)
            return answer

        with connection.execute_wrapper(credit_other):
            exposures.credit(task)

        assert MemoryExposure.objects.filter(run_id=other).count() == taken[0]

    def test_the_statements_are_as_long_for_many_memories_none_of_them_whole(
        self, give, django_assert_num_queries
    ):
        few, several = (replace(give(number), calls=()) for number in (1, 6))
        with django_assert_num_queries(6) as one:
            exposures.credit(few)
        with django_assert_num_queries(6) as many:
            exposures.credit(several)

        lengths = [
            [len(query["sql"]) // 10 for query in each.captured_queries]
            for each in (one, many)
        ]
        assert lengths[0] == lengths[1]
        assert not any("content_tsv" in q["sql"] for q in many.captured_queries)

    def test_each_memory_is_credited_once(self, give):
        task = give(3)

        exposures.credit(task)
        exposures.credit(task)

        rows = MemoryExposure.objects.filter(run_id=task.run_id, used_as="command")
        assert rows.count() == 3


class TestRows:
    def test_those_without_a_task_are_deleted_after_90_days(
        self, memory, ask, complete, bob_api
    ):
        ask(bob_api)
        complete(bob_api)
        ask(bob_api)
        then = timezone.now() - timedelta(days=91)
        MemoryExposure.objects.update(at=then)

        tasks.forget_exposures()

        assert MemoryExposure.objects.get().run_id is not None

    def test_a_bound_user_does_not_see_those_of_another(self, project):
        one, two = (
            Caller(name, roles={project.pk: Role.WRITER}, user_id=name, key_id=uuid7())
            for name in ("u1", "u2")
        )
        draft = Draft(content=TEXT, memory_type="learning", scope=Scope("user", "u1"))
        write.store(project, draft, one)
        own = AtHand(scopes=(Scope("user", "u1"),))
        task_context.for_task(project, TASK, one, at_hand=own)

        assert MemoryExposure.objects.visible_to(one).count() == 1
        assert MemoryExposure.objects.visible_to(two).count() == 0

    def test_charlie_sees_none(self, memory, ask, bob_api, charlie):
        ask(bob_api)

        assert not MemoryExposure.objects.visible_to(charlie).exists()
