from __future__ import annotations

import json
import uuid

import pytest

from ace import run as runs
from ace.models import AceRun, Reflection
from ace.serializers import CompleteTask
from ace.task import task as tasks
from jobs.models import Job
from memories.models import Memory
from playbook.models import PlaybookChange, PlaybookDelta, PlaybookEntry

URL = "/api/v1/complete-task"

# A call that failed, then the same tool with other arguments: the lesson.
REPAIRED = {
    "agent_id": "coder",
    "goal": "Push the release branch of the billing service",
    "result": "The branch release/2.4 was pushed and the pipeline is green.",
    "outcome": "success",
    "feedback": "3 passed, 0 failed",
    "feedback_source": "test",
    "tool_usage": [
        {
            "tool_name": "Bash",
            "arguments": {"command": "git push"},
            "result": "fatal: The current branch release/2.4 has no upstream branch.",
        },
        {
            "tool_name": "Bash",
            "arguments": {"command": "git push --set-upstream origin release/2.4"},
            "result": "branch 'release/2.4' set up to track 'origin/release/2.4'.",
        },
        {
            "tool_name": "Edit",
            "arguments": {"file_path": "billing/version.py", "new_string": "2.4"},
            "result": "The file billing/version.py has been updated.",
        },
    ],
}


@pytest.fixture
def complete(alice_api, project):
    def post(body=None, api=alice_api, **fields):
        sent = {"project_id": str(project.pk), **(body or REPAIRED), **fields}
        headers = {k: sent.pop(k) for k in list(sent) if k.startswith("HTTP_")}
        return api.post(URL, sent, **headers)

    return post


class TestResult:
    def test_it_answers_with_everything_that_the_requirement_lists(self, complete):
        answer = complete()

        assert answer.status_code == 200
        result = answer.json()
        assert set(result) >= {
            "memory_id",
            "memory_type",
            "files_linked",
            "tags",
            "insights",
            "errors",
            "related_playbook_entries",
            "playbook_delta",
            "updated_bullets",
            "change_id",
            "run_id",
            "phases",
        }
        assert [result["phases"][p]["status"] for p in result["phases"]] == ["done"] * 3

    def test_the_memory_has_the_task_and_its_files(self, complete):
        result = complete().json()

        memory = Memory.objects.get(pk=result["memory_id"])
        assert memory.goal == REPAIRED["goal"]
        assert REPAIRED["result"] in memory.content
        assert {f["file_path"]: f["relation_type"] for f in result["files_linked"]} == {
            "billing/version.py": "modified"
        }

    def test_a_repaired_call_becomes_a_playbook_entry(self, complete, project):
        result = complete().json()

        entry = PlaybookEntry.objects.get(project=project)
        assert "--set-upstream" in entry.content
        assert result["playbook_delta"]["operations"][0]["status"] == "applied"
        assert result["updated_bullets"][0]["label"] == entry.label
        assert PlaybookChange.objects.filter(pk=result["change_id"]).exists()
        assert entry.supporting_memory_ids == [result["memory_id"]]

    def test_every_quote_is_cut_from_its_field(self, complete):
        run = AceRun.objects.get(pk=complete().json()["run_id"])
        task = tasks.parse(run.request)

        errors = [quote for e in run.reflection.errors for quote in e["evidence"]]
        for span in [*errors, *PlaybookDelta.objects.get().evidence]:
            text = task.text(span["field"])
            assert text[span["start"] : span["end"]] == span["quote"]

    def test_feedback_of_the_agent_itself_waits_for_a_person(self, complete):
        words = {"feedback": "Always tag a release before the push.", "tool_usage": []}

        result = complete(REPAIRED | words | {"feedback_source": "agent"}).json()

        operations = result["playbook_delta"]["operations"]
        assert [op["status"] for op in operations] == ["pending"]
        assert PlaybookEntry.objects.count() == 0

    def test_calls_that_a_key_may_attest_are_no_word_of_the_agent(self, complete):
        result = complete(
            REPAIRED | {"feedback_source": "agent", "feedback": ""}
        ).json()

        operations = result["playbook_delta"]["operations"]
        assert [op["status"] for op in operations] == ["applied"]

    def test_human_feedback_becomes_a_lesson_in_its_own_words(self, complete):
        result = complete(
            {
                "agent_id": "coder",
                "goal": "Add a column to the invoices table",
                "result": "Added the column.",
                "feedback": "Always add new columns as nullable first.",
                "feedback_source": "human",
                "outcome": "partial",
                "tool_usage": [],
            }
        ).json()

        assert result["lessons"][0]["content"].startswith("Always add new columns")


class TestAbstention:
    def test_an_unknown_outcome_gives_no_lesson_and_no_vote(self, complete, project):
        complete()
        entry = PlaybookEntry.objects.get()
        before = PlaybookChange.objects.exclude(action="support").count()

        result = complete(
            {
                "agent_id": "coder",
                "goal": "Look at the push script",
                "result": "I looked at it.",
                "tool_usage": [],
                "feedback": "",
                "cited_entry_ids": [str(entry.pk)],
            }
        ).json()

        assert result["outcome"] == "unknown"
        assert result["abstained"]
        entry.refresh_from_db()
        assert (entry.helpful, entry.harmful, entry.neutral) == (0, 0, 0)
        assert PlaybookChange.objects.exclude(action="support").count() == before


class TestVotes:
    def test_a_cited_entry_of_a_success_was_helpful(self, complete):
        complete()
        entry = PlaybookEntry.objects.get()

        complete(goal="Push another branch", cited_entry_ids=[entry.label])

        entry.refresh_from_db()
        assert entry.helpful == 1

    def test_an_unknown_entry_id_does_not_lose_the_task(self, complete):
        answer = complete(cited_entry_ids=[str(uuid.uuid4()), "gotchas-99999"])

        assert answer.status_code == 200


class TestRepetition:
    def test_the_same_key_gives_the_same_run(self, complete):
        first = complete(HTTP_IDEMPOTENCY_KEY="k").json()

        again = complete(HTTP_IDEMPOTENCY_KEY="k").json()

        assert again == first
        assert AceRun.objects.count() == Memory.objects.count() == 1

    def test_another_task_under_the_key_is_refused(self, complete):
        complete(HTTP_IDEMPOTENCY_KEY="k")

        answer = complete(HTTP_IDEMPOTENCY_KEY="k", goal="Something else")

        assert (answer.status_code, answer.json()["code"]) == (
            409,
            "idempotency_mismatch",
        )

    def test_the_same_task_without_a_key_is_a_duplicate_memory(self, complete):
        first = complete().json()

        again = complete().json()

        assert again["memory_status"] == "duplicate"
        assert again["duplicate_of"] == first["memory_id"]


class TestFaults:
    def test_a_failed_phase_keeps_the_memory_and_is_named(
        self, complete, monkeypatch, run_jobs
    ):
        def broken(run, caller):
            raise RuntimeError("the reflector tripped")

        whole = dict(runs.PHASES)
        monkeypatch.setitem(runs.PHASES, "reflector", broken)
        result = complete().json()
        assert result["state"] == "running"
        assert "tripped" in result["phases"]["reflector"]["error"]

        monkeypatch.setitem(runs.PHASES, "reflector", whole["reflector"])
        Job.objects.filter(kind=runs.KIND).update(run_after="2020-01-01T00:00Z")
        run_jobs()

        run = AceRun.objects.get(pk=result["run_id"])
        assert run.state == "done"
        assert PlaybookEntry.objects.count() == 1

    def test_resuming_a_finished_run_is_refused(self, complete, alice_api):
        run_id = complete().json()["run_id"]

        answer = alice_api.post(f"/api/v1/runs/{run_id}/resume")

        assert answer.status_code == 409

    def test_running_the_phases_twice_changes_nothing(self, complete, alice):
        run = AceRun.objects.get(pk=complete().json()["run_id"])
        changes = list(PlaybookChange.objects.values_list("pk", flat=True))
        run.phases = {"executor": run.phases["executor"]}

        runs.advance(run, alice)

        assert list(PlaybookChange.objects.values_list("pk", flat=True)) == changes
        assert Reflection.objects.count() == 1

    def test_asynchronously_it_answers_202_and_a_worker_finishes(
        self, complete, run_jobs
    ):
        answer = complete(HTTP_PREFER="respond-async")

        assert answer.status_code == 202
        assert answer.headers["Location"].endswith(answer.json()["run_id"])
        run_jobs()
        assert AceRun.objects.get().state == "done"


class TestRefusals:
    @pytest.mark.parametrize(
        ("change", "field"),
        [
            ({"goal": ""}, "goal"),
            ({"outcome": "great"}, "outcome"),
            ({"tool_usage": [{"arguments": {}}]}, "tool_usage"),
            ({"tool_usage": [{"tool_name": "x"}] * 501}, "tool_usage"),
            ({"feedback_source": "rumour"}, "feedback_source"),
        ],
    )
    def test_it_refuses_an_invalid_field(self, complete, change, field):
        answer = complete(**change)

        assert answer.status_code == 400
        assert any(name.startswith(field) for name in answer.json()["errors"])
        assert AceRun.objects.count() == 0

    def test_test_feedback_needs_counts(self, complete):
        answer = complete(feedback="it went well", feedback_source="test")

        assert answer.json()["code"] == "feedback_source"

    def test_a_bound_key_cannot_speak_for_another_agent(
        self, complete, client_of, project
    ):
        api = client_of(project, agent_id="coder")

        assert complete(api=api).status_code == 200
        answer = complete(api=api, agent_id="someone")
        assert (answer.status_code, answer.json()["code"]) == (403, "agent_mismatch")


class TestTolerance:
    def test_arguments_may_be_a_string_of_json_and_tools_named_tool(self, complete):
        calls = [
            {
                "tool": "Write",
                "arguments": json.dumps({"file_path": "a.py", "content": "x"}),
                "result": "File created successfully at: a.py",
            }
        ]

        result = complete(tool_usage=calls).json()

        assert result["files_linked"][0]["file_path"] == "a.py"

    def test_a_short_goal_without_a_result_is_a_task_too(self, complete):
        answer = complete(goal="Fix", result="", feedback="", feedback_source="agent")

        assert answer.status_code == 200

    def test_a_blank_result_is_allowed(self, complete):
        assert complete(result="").status_code == 200

    def test_null_counts_as_absent(self, complete):
        fields = CompleteTask().fields
        left_out = {name: None for name in fields if not fields[name].required}
        call = {"tool_name": "Bash", "arguments": None, "result": None, "status": None}

        assert complete({"goal": REPAIRED["goal"], **left_out}).status_code == 200
        assert complete(tool_usage=[call]).status_code == 200

    def test_secrets_are_masked_in_the_run_too(self, complete):
        secret = "ghp_" + "a1B2" * 9

        result = complete(feedback=f"The token was {secret}", feedback_source="agent")

        run = AceRun.objects.get(pk=result.json()["run_id"])
        assert secret not in json.dumps(run.request)
        assert secret not in run.memory.content


class TestRuns:
    def test_they_are_listed_and_read_with_their_reflection(
        self, complete, alice_api, project
    ):
        run_id = complete().json()["run_id"]

        query = {"project_id": str(project.pk), "state": "done"}
        listed = alice_api.get("/api/v1/runs", query).json()["results"]
        one = alice_api.get(f"/api/v1/runs/{run_id}").json()

        assert [run["id"] for run in listed] == [run_id]
        assert one["request"]["goal"] == REPAIRED["goal"]
        assert one["reflection"]["outcome"] == "success"

    def test_charlie_sees_none(self, complete, charlie_api, project):
        run_id = complete().json()["run_id"]

        assert charlie_api.get(f"/api/v1/runs/{run_id}").status_code == 404
        query = {"project_id": str(project.pk)}
        assert charlie_api.get("/api/v1/runs", query).status_code == 404
