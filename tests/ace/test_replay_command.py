from __future__ import annotations

import io
import json

import pytest
from django.core.management import CommandError, call_command

from ace import recorded_tasks
from ace.models import AceRun
from memories.models import Memory
from playbook.models import PlaybookChange

ROWS = [
    {
        "id": "flight-1",
        "goal": "Book a flight for alice_1",
        "result": "",
        "reward": 0.0,
        "tool_usage": [
            {
                "tool": "book",
                "arguments": '{"user_id": "alice_1", "payment": "card_9"}',
                "result": "Error: payment method not found",
            },
            {
                "tool": "book",
                "arguments": '{"user_id": "alice_1", "payment": "card_1"}',
                "result": '{"reservation": "R1"}',
            },
        ],
    },
    {
        "id": "shell-1",
        "goal": "Find the bug in parser.py",
        "submission": "diff --git a/parser.py b/parser.py",
        "tool_usage": [
            {"action": "cat parser.py\n", "observation": "def parse(): ..."},
        ],
    },
    {
        "name": "sum",
        "goal": "fn sum(numbers: Vec<i64>) -> i64 {",
        "result": "fn sum(numbers: Vec<i64>) -> i64 { numbers.iter().sum() }",
        "is_solved": True,
        "reflections": ["The first try was wrong. I should use an iterator."],
    },
]


@pytest.mark.django_db
def test_text_that_cannot_be_stored_is_replaced(tmp_path):
    calls = [{"tool": "shell", "arguments": {"a": "x\x00"}, "result": "\ud800"}]
    row = {"goal": "Book a\x00 flight", "tool_usage": calls}
    file = tmp_path / "runs.jsonl"
    file.write_text(json.dumps(row) + "\n")

    replay(file)

    request = AceRun.objects.get().request
    assert request["goal"] == "Book a\ufffd flight"
    assert request["tool_usage"][0]["result"] == "\ufffd"


@pytest.fixture
def recording(tmp_path):
    file = tmp_path / "runs.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return file


def replay(file):
    out = io.StringIO()
    call_command("replay", file, project="trips", stdout=out, stderr=io.StringIO())
    return out.getvalue()


@pytest.mark.django_db
class TestReplay:
    def test_every_kind_of_recording_is_accepted(self, recording):
        told = replay(recording)

        assert "accepted              3 of 3" in told
        assert Memory.objects.count() == 3
        outcomes = AceRun.objects.order_by("pk").values_list(
            "reflection__outcome", flat=True
        )
        assert list(outcomes) == ["failure", "unknown", "success"]

    def test_a_second_replay_changes_nothing(self, recording):
        replay(recording)
        before = (AceRun.objects.count(), PlaybookChange.objects.count())

        told = replay(recording)

        assert "accepted              3 of 3" in told
        assert (AceRun.objects.count(), PlaybookChange.objects.count()) == before
        assert Memory.objects.count() == 3

    def test_a_run_stores_the_same_as_for_a_request_to_the_api(
        self, tmp_path, alice_api, project
    ):
        row = {"goal": " Tidy up\n", "tool_usage": [{"tool": "sweep", "result": "ok"}]}
        file = tmp_path / "untidy.jsonl"
        file.write_text(json.dumps(row))
        replay(file)
        sent = recorded_tasks.to_request(row, agent_id="replay")

        alice_api.post("/api/v1/complete-task", sent | {"project": project.name})

        replayed, posted = AceRun.objects.values_list("request", flat=True)
        assert replayed == posted

    def test_a_source_that_the_api_refuses_is_refused(self, tmp_path):
        file = tmp_path / "uncounted.jsonl"
        row = {"goal": "Tidy up", "feedback": "tidy", "feedback_source": "test"}
        file.write_text(json.dumps(row))

        with pytest.raises(CommandError, match="1 of 1 were refused"):
            replay(file)
        assert not AceRun.objects.exists()

    def test_a_broken_line_is_named(self, tmp_path):
        file = tmp_path / "broken.jsonl"
        file.write_text('{"goal": "x"}\n{"goal": \n')

        with pytest.raises(CommandError, match="line 2"):
            replay(file)
