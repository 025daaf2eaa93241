from __future__ import annotations

import json

import pytest
from django.core.management.base import CommandError

from benchmarks.measures import lesson_families
from benchmarks.options import BenchmarkOptions
from inference.models import ModelCall
from tests.ace.conftest import chat_response, endpoint, lesson, model, reflection

__all__ = ["endpoint", "model"]

REFUSED = {
    "tool": "Bash",
    "arguments": {"command": "hub pr view 7 --changed"},
    "result": "unknown flag: --changed",
}
CURED = {
    "tool": "Bash",
    "arguments": {"command": "hub pr view 7 --files"},
    "result": "a.py",
}
TOTALS = {"payment": "Error: amount must match, it does not add up, total price is 3"}


@pytest.fixture
def data(tmp_path):
    (tmp_path / "traces").mkdir()
    pay = {"tool": "pay", "arguments": {"amount": 1}, "result": TOTALS["payment"]}
    rows = [
        {"goal": "g", "result": "r", "reward": 1, "tool_usage": [REFUSED, CURED]},
        {"goal": "g", "result": "r", "reward": 0, "tool_usage": [pay]},
        {"goal": "h", "result": "r", "reward": 0, "tool_usage": [pay]},
    ]
    lines = "\n".join(json.dumps(row) for row in rows)
    (tmp_path / "traces" / "desk.jsonl").write_text(lines, encoding="utf-8")
    return tmp_path


def measure(data, *without, model=0):
    extra = {"without": list(without), "seed": 1, "model": model}
    return lesson_families.run(BenchmarkOptions(data, extra=extra))


def answer(body):
    """Answer as a model would about CURED; about anything else, answer nothing usable."""
    if "hub pr view" not in body["messages"][1]["content"]:
        return chat_response("I do not know.")
    told = lesson(
        content="When running `hub pr view`, pass `--files` instead of `--changed`.",
        quotes=[
            {"field": "tool_usage.0.arguments", "quote": "hub pr view 7 --changed"},
            {"field": "tool_usage.1.arguments", "quote": "hub pr view 7 --files"},
        ],
    )
    invented = lesson(quotes=[{"field": "result", "quote": "nobody has said this"}])
    return chat_response(reflection(told, invented))


@pytest.mark.django_db
class TestModel:
    def test_its_lessons_are_counted_as_a_family_of_their_own(self, data, model):
        model.endpoint.answer = answer

        result = measure(data, *lesson_families.FAMILIES, model=3)

        assert result["families"]["model"]["lessons"] == 1
        assert [row["lesson"] for row in result["sample"]] == [
            "When running `hub pr view`, pass `--files` instead of `--changed`."
        ]
        assert result["model"]["asked"] == 3
        assert result["model"]["without_answer"] == 2
        assert any("had no quote" in note for note in result["model"]["notes"])
        assert not ModelCall.objects.exists()

    def test_without_a_configured_model_it_says_what_is_missing(self, data):
        with pytest.raises(CommandError, match="LANGUAGE_PROVIDER"):
            measure(data, model=1)


class TestLessonFamilies:
    def test_it_counts_the_lessons_of_each_family(self, data):
        families = measure(data)["families"]

        assert families["commands"]["lessons"] == families["commands"]["live"] == 1
        assert families["repeated"]["lessons"] == 1
        assert families["calls"]["lessons"] == 0

    def test_a_family_that_is_left_out_adds_nothing(self, data):
        result = measure(data, "commands")

        assert "commands" not in result["families"]
        assert [row["lesson"] for row in result["sample"]] == [
            "When calling `pay`, check the values against each other before the call: "
            '"amount must match, it does not add up".'
        ]

    def test_the_sample_shows_the_evidence_and_not_the_family(self, data):
        row = measure(data, "repeated")["sample"][0]

        assert row.keys() == {"run", "goal", "outcome", "quotes", "lesson"}
        assert "unknown flag: --changed" in row["quotes"]
