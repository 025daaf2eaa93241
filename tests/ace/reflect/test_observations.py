from __future__ import annotations

import pytest

from ace.models import AceRun, Observation
from ace.rules import task as tasks

URL = "/api/v1/complete-task"


def booking(
    error="Error: payment amount must match, it does not add up, total price is 310",
    **more,
):
    return {
        "agent_id": "desk",
        "goal": "Book a seat to Porto",
        "result": "I could not book the seat.",
        "outcome": "failure",
        "feedback": "reward 0",
        "feedback_source": "environment",
        "tool_usage": [
            {
                "tool_name": "book_seat",
                "arguments": {"flight": "HAT7", "amount": 300},
                "result": error,
            }
        ],
    } | more


@pytest.fixture
def complete(alice_api, project):
    def post(body):
        answer = alice_api.post(URL, {"project_id": str(project.pk), **body})
        assert answer.status_code == 200, answer.content
        return answer.json()

    return post


@pytest.mark.django_db
class TestStoring:
    def test_an_error_without_a_lesson_is_stored_with_its_quote(self, complete):
        result = complete(booking())

        assert result["lessons"] == []
        kept = Observation.objects.get()
        assert str(kept.run_id) == result["run_id"]
        assert kept.root_cause == "VALUE_MISMATCH"
        assert "does not add up" in kept.seen["quote"]

    def test_the_same_error_of_another_run_is_no_lesson(self, complete):
        assert [complete(booking())["lessons"] for _ in range(3)] == [[], [], []]
        assert len(set(Observation.objects.values_list("signature", flat=True))) == 1

    def test_the_same_error_of_another_tool_has_another_signature(self, complete):
        complete(booking())
        call = booking()["tool_usage"][0] | {"tool_name": "book_room"}
        complete(booking(tool_usage=[call]))

        assert len(set(Observation.objects.values_list("signature", flat=True))) == 2


@pytest.mark.django_db
class TestQuotes:
    def test_their_spans_are_right_after_masking_and_with_any_text(self, complete):
        told = (
            "Error: \U0001f600 token ghp_0123456789abcdefghijABCDEFGHIJ012345\r\n"
            "payment amount must match, it does not add up, total price is 310\r\n"
        )
        run_id = complete(booking(told))["run_id"]

        run = AceRun.objects.get(pk=run_id)
        task = tasks.parse(run.request)
        quotes = [
            *run.reflection.evidence,
            *(row.seen for row in run.observations.all()),
        ]
        assert "ghp_" not in str(run.request)
        assert len(quotes) >= 2
        for quote in quotes:
            text = task.text(quote["field"])
            assert text[quote["start"] : quote["end"]] == quote["quote"]


@pytest.mark.django_db
class TestProjectCauses:
    def test_the_rows_of_a_project_come_first(self, complete, project):
        row = {"code": "BILLING", "words": ["payment amount"]}
        project.settings = {**project.settings, "root_causes": [row]}
        project.save()

        run_id = complete(booking())["run_id"]

        run = AceRun.objects.get(pk=run_id)
        assert run.reflection.root_cause == "BILLING"
        assert run.observations.get().root_cause == "BILLING"


@pytest.mark.django_db
class TestReading:
    def test_the_run_shows_its_observations(self, complete, alice_api):
        run_id = complete(booking())["run_id"]

        run = alice_api.get(f"/api/v1/ace/runs/{run_id}").json()

        (seen,) = run["observations"]
        assert seen["root_cause"] == "VALUE_MISMATCH"
        assert seen["seen"]["field"] == "tool_usage.0.result"
