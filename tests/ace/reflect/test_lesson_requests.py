from __future__ import annotations

import uuid

import pytest

from ace.models import Observation
from ace.reflect import observations
from common.caller import Role
from memories.models import Memory
from playbook.models import PlaybookDelta
from tests.ace.reflect.test_observations import booking

COMPLETE = "/api/v1/complete-task"
DELTAS = "/api/v1/playbook/deltas"
ERROR = "Error: vault is sealed, unseal key kv-91 first"
LESSON = "Before calling `book_seat`, make sure that the vault is unsealed."
FAILED = {
    "tool_name": "book_seat",
    "arguments": {"flight": "HAT7", "amount": 300},
    "result": ERROR,
}
OPENED = {"tool_name": "open_vault", "arguments": {"key": "a"}, "result": "open"}
COMPILED = {
    "tool_name": "Bash",
    "arguments": {"command": "go build ./..."},
    "status": "failed",
    "result": "main.go:3:1: undefined: rune_count",
}
ETIQUETTE = {
    "tool_name": "Edit",
    "arguments": {"file_path": "a.py"},
    "status": "failed",
    "result": "<tool_use_error>File has not been read yet. Read it first.</tool_use_error>",
}


@pytest.fixture
def complete(alice_api, project):
    def post(*calls, api=None, **more):
        body = booking(tool_usage=list(calls or [FAILED]), **more)
        answer = (api or alice_api).post(
            COMPLETE, {"project_id": str(project.pk)} | body
        )
        assert answer.status_code == 200, answer.content
        return answer.json()

    return post


@pytest.fixture
def answer(alice_api, project):
    def post(observation_id, content=LESSON, *, api=None, **more):
        body = {
            "project_id": str(project.pk),
            "operation": "add",
            "category": "gotchas",
            "content": content,
            "observation_id": str(observation_id),
        }
        return (api or alice_api).post(DELTAS, body | more)

    return post


def kinds(result):
    return [asked["kind"] for asked in result["reflect"]]


@pytest.mark.django_db
class TestWhatIsAsked:
    def test_a_failed_call_without_a_lesson_is_asked_about_with_its_quotes(
        self, complete
    ):
        [asked] = complete()["reflect"]

        assert asked["kind"] == "failed_call"
        assert [quote["quote"] for quote in asked["evidence"]] == [
            ERROR,
            "book_seat",
            '{"amount": 300, "flight": "HAT7"}',
        ]
        assert "/playbook/deltas" in asked["ask"]

    def test_a_task_without_errors_asks_for_nothing(self, complete):
        assert complete(OPENED, outcome="success")["reflect"] == []

    def test_an_error_of_an_earlier_task_has_come_back(self, complete):
        complete()

        assert kinds(complete()) == ["repeated_error"]

    def test_what_then_worked_belongs_to_the_evidence(self, complete):
        fixed = FAILED | {
            "arguments": {"flight": "HAT7", "vault": "b"},
            "result": "12A",
        }

        [asked] = complete(FAILED, fixed)["reflect"]

        assert asked["kind"] == "repair"
        assert '"vault": "b"' in asked["evidence"][-1]["quote"]

    def test_the_words_of_a_person_come_first_and_three_are_enough(self, complete):
        others = [
            FAILED | {"tool_name": f"seat_{word}", "result": f"Error: {word} is sealed"}
            for word in ("cabin", "window", "aisle", "wing")
        ]

        asked = complete(
            *others,
            feedback="The customer wanted the seat by the window.",
            feedback_source="human",
        )

        assert kinds(asked) == ["correction", "failed_call", "failed_call"]
        said = asked["reflect"][0]["evidence"][0]
        assert said["field"] == "feedback"

    def test_the_words_with_which_a_person_refuses_a_call_are_asked_about(
        self, complete
    ):
        refused = FAILED | {
            "result": "The user doesn't want to proceed with this tool use. To tell you "
            "how to proceed, the user said:\nNot without the customer's card."
        }

        [asked] = complete(refused)["reflect"]

        assert asked["kind"] == "correction"
        assert asked["evidence"][0]["quote"] == "Not without the customer's card."

    @pytest.mark.parametrize("call", [COMPILED, ETIQUETTE])
    def test_code_that_does_not_compile_and_etiquette_teach_nothing(
        self, complete, call
    ):
        assert complete(call)["reflect"] == []

    def test_a_repair_that_the_rules_put_into_words_is_not_asked_about(self, complete):
        failed = FAILED | {"result": "Error: cabin is a required field"}
        fixed = FAILED | {
            "arguments": FAILED["arguments"] | {"cabin": "basic"},
            "result": "12A",
        }

        result = complete(failed, fixed, outcome="success")

        assert result["lessons"]
        assert result["reflect"] == []


@pytest.mark.django_db
class TestTheAnswer:
    def test_it_waits_as_a_lesson_of_a_model_with_the_quotes(self, complete, answer):
        result = complete()
        [asked] = result["reflect"]

        response = answer(asked["observation_id"])

        assert response.status_code == 201, response.content
        delta = response.json()
        assert (delta["status"], delta["producer"]) == ("pending", "model")
        assert delta["evidence"] == asked["evidence"]
        assert delta["run_id"] == result["run_id"]
        assert {gate["verdict"] for gate in delta["gates"]} == {"pass"}
        assert "agent's own word" in delta["review_note"]

    @pytest.mark.parametrize(
        ("content", "more"),
        [
            ("Run `vaultctl unseal` before calling `book_seat`.", {}),
            (LESSON, {"condition": "`vaultctl` is missing"}),
        ],
    )
    def test_a_name_that_the_evidence_lacks_fails_the_gate(
        self, complete, answer, content, more
    ):
        [asked] = complete()["reflect"]

        delta = answer(asked["observation_id"], content, **more).json()

        assert delta["status"] == "rejected"
        [failed] = [gate for gate in delta["gates"] if gate["verdict"] == "fail"]
        assert failed["name"] == "grounded"
        assert "vaultctl" in failed["message"]
        assert "leave it out" in failed["message"]
        assert answer(asked["observation_id"]).json()["status"] == "pending"

    def test_the_same_text_again_is_the_same_delta(self, complete, answer):
        [asked] = complete()["reflect"]

        first, second = (answer(asked["observation_id"]).json() for _ in range(2))

        assert first["id"] == second["id"]
        assert PlaybookDelta.objects.count() == 1

    def test_another_text_is_refused_while_the_first_one_waits(self, complete, answer):
        [asked] = complete()["reflect"]
        answer(asked["observation_id"])

        response = answer(
            asked["observation_id"], "Never call `book_seat` on a sealed vault."
        )

        assert response.status_code == 409
        assert response.json()["code"] == "observation_has_lesson"

    def test_what_has_its_lesson_is_not_asked_again(self, complete, answer, alice_api):
        result = complete()
        answer(result["reflect"][0]["observation_id"])

        run = alice_api.get(f"/api/v1/ace/runs/{result['run_id']}").json()
        later = complete()

        assert run["result"]["reflect"] == []
        assert (later["reflect"], later["lessons"]) == ([], [])

    def test_what_came_back_in_many_runs_since_its_lesson_is_asked_again(
        self, complete, answer, monkeypatch
    ):
        monkeypatch.setattr(observations, "MAX_RUNS", 1)
        answer(complete()["reflect"][0]["observation_id"])

        assert [kinds(complete()) for _ in range(2)] == [[], ["repeated_error"]]

    def test_only_an_addition_by_an_agent_is_taken(self, complete, answer):
        [asked] = complete()["reflect"]

        response = answer(asked["observation_id"], producer="human")

        assert response.status_code == 400
        assert "producer" in response.json()["errors"]

    def test_an_observation_that_is_not_asked_about_takes_no_lesson(
        self, complete, answer
    ):
        complete(COMPILED)

        assert answer(Observation.objects.get().pk).status_code == 404


@pytest.mark.django_db
class TestWhoseObservation:
    def test_an_unknown_observation_is_not_found(self, answer):
        response = answer(uuid.uuid4())

        assert (response.status_code, response.json()["code"]) == (404, "not_found")

    def test_one_of_another_project_is_not_found(
        self, complete, answer, charlie_api, other_project
    ):
        [asked] = complete()["reflect"]

        response = answer(
            asked["observation_id"], api=charlie_api, project_id=str(other_project.pk)
        )

        assert (response.status_code, response.json()["code"]) == (404, "not_found")

    def test_one_of_another_persons_task_is_not_found_but_by_a_curator(
        self, complete, answer, bob_api, client_of, project
    ):
        [asked] = complete(api=bob_api)["reflect"]
        writer = client_of(project, role=Role.WRITER)
        curator = client_of(project, role=Role.CURATOR)

        refused = answer(asked["observation_id"], api=writer)

        assert (refused.status_code, refused.json()["code"]) == (404, "not_found")
        assert answer(asked["observation_id"], api=curator).status_code == 201

    def test_another_key_of_the_person_may_answer(
        self, complete, answer, client_of, project
    ):
        first = client_of(project, role=Role.WRITER, user_id="dana")
        second = client_of(project, role=Role.WRITER, user_id="dana")
        [asked] = complete(api=first)["reflect"]

        assert answer(asked["observation_id"], api=second).status_code == 201

    @pytest.mark.parametrize("is_rejected", [False, True])
    def test_a_lesson_that_waits_or_was_rejected_silences_only_its_own_person(
        self, complete, answer, bob_api, client_of, project, alice_api, is_rejected
    ):
        mallory_api = client_of(project, role=Role.WRITER)
        [asked] = complete(api=mallory_api)["reflect"]
        delta = answer(asked["observation_id"], api=mallory_api).json()
        assert delta["status"] == "pending"
        if is_rejected:
            rejected = alice_api.post(
                f"{DELTAS}/{delta['id']}/reject", {"reason": "No."}
            )
            assert rejected.status_code == 200, rejected.content

        assert complete(api=mallory_api)["reflect"] == []
        assert kinds(complete(api=bob_api)) == ["repeated_error"]

    def test_a_lesson_in_force_settles_the_question_for_all(
        self, complete, answer, bob_api, alice_api
    ):
        [asked] = complete(api=bob_api)["reflect"]
        delta = answer(asked["observation_id"], api=bob_api).json()
        accepted = alice_api.post(f"{DELTAS}/{delta['id']}/accept", {})
        assert accepted.status_code == 200, accepted.content

        assert complete()["reflect"] == []

    def test_one_of_a_purged_memory_is_not_found(self, complete, answer, alice_api):
        result = complete()
        [asked] = result["reflect"]
        answer(asked["observation_id"])

        purged = alice_api.post(
            "/api/v1/purge",
            {"project": "alpha", "reason": "Asked.", "ids": [result["memory_id"]]},
        )

        assert purged.status_code == 200, purged.content
        assert answer(asked["observation_id"]).status_code == 404
        assert not Observation.objects.exists()
        assert "vault" not in str(PlaybookDelta.objects.values_list("evidence"))

    def test_one_of_a_forgotten_memory_is_not_found(self, complete, answer, alice_api):
        result = complete()

        alice_api.delete(f"/api/v1/memories/{result['memory_id']}")

        assert Memory.objects.get().deleted_at
        assert answer(result["reflect"][0]["observation_id"]).status_code == 404
