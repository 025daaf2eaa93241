"""A text that the memory of a task keeps in part is named in the notes, with both lengths."""

from __future__ import annotations

import pytest

from ace.models import AceRun
from memories.models import Memory

pytestmark = pytest.mark.django_db
TASKS = "/api/v1/complete-task"
WHOLE = "the run keeps the whole text"


@pytest.fixture
def send(bob_api, project):
    def send(**task):
        body = {"project_id": str(project.pk), "goal": "Oil the crane"} | task
        answer = bob_api.post(TASKS, body)
        assert answer.status_code == 200, answer.json()
        return answer.json()

    return send


def cuts(answer):
    return [note for note in answer["notes"] if "cut" in note]


def test_each_long_text_is_named_with_both_lengths(send):
    answer = send(result="r" * 30_000, feedback="f" * 120_000)

    assert cuts(answer) == [
        f"content was cut from 150,027 to 50,000 characters; {WHOLE}.",
        f"result was cut from 30,000 to 20,000 characters; {WHOLE}.",
        f"feedback was cut from 120,000 to 20,000 characters; {WHOLE}.",
    ]
    memory = Memory.objects.get(pk=answer["memory_id"])
    assert (len(memory.result), len(memory.feedback)) == (20_000, 20_000)
    run = AceRun.objects.get(pk=answer["run_id"])
    assert run.request["feedback"] == "f" * 120_000


def test_a_long_argument_is_named_by_its_path(send):
    calls = [{"tool_name": "write", "arguments": {"text": "x" * 501, "path": "a.py"}}]
    answer = send(tool_usage=calls)

    assert cuts(answer) == [
        "tool_usage.0.arguments.text was cut from 501 to 500 characters; " + WHOLE + "."
    ]


def test_very_many_cuts_are_counted(send):
    calls = [{"tool_name": "write", "arguments": {"text": "x" * 900}}] * 25
    answer = send(tool_usage=calls)

    assert len(cuts(answer)) == 11
    assert cuts(answer)[-1] == f"15 more texts were cut; {WHOLE}."


def test_a_long_tool_name_is_stored_whole(send):
    answer = send(tool_usage=[{"tool_name": "t" * 255}])

    memory = Memory.objects.get(pk=answer["memory_id"])
    assert memory.tool_usage[0]["tool_name"] == "t" * 255
    assert cuts(answer) == []


def test_a_text_within_the_limit_has_no_note(send):
    assert cuts(send(result="r" * 20_000)) == []
