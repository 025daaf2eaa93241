from __future__ import annotations

import json

import pytest

from benchmarks.measures import lesson_families
from benchmarks.options import BenchmarkOptions

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


def measure(data, *without):
    extra = {"without": list(without), "seed": 1}
    return lesson_families.run(BenchmarkOptions(data, extra=extra))


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
