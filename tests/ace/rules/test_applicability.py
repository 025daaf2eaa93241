from __future__ import annotations

import pytest

from ace.rules import applicability, evidence, lessons, task
from ace.rules.outcome import task_outcome


def found(**request):
    """Return where each lesson of a task applies."""
    parsed = task.parse({"goal": "g", "feedback_source": "human", **request})
    outcome = task_outcome.resolve(parsed)
    drawn = lessons.draw(parsed, outcome, evidence.find(parsed)).lessons
    return [applicability.find(parsed, lesson) for lesson in drawn]


def call(command, result, *, failed=False):
    return {
        "tool_name": "Bash",
        "arguments": {"command": command},
        "result": result,
        "is_error": failed,
    }


class TestEvidence:
    def test_a_repaired_call_is_about_its_tool(self):
        assert found(
            tool_usage=[
                {
                    "tool_name": "get_order",
                    "arguments": {"id": 7, "verbose": True},
                    "result": "Error: missing required argument order_id",
                    "is_error": True,
                },
                {
                    "tool_name": "get_order",
                    "arguments": {"order_id": 7, "verbose": True},
                    "result": "shipped",
                    "is_error": False,
                },
            ]
        ) == [["tool:get_order"]]

    def test_a_check_that_had_to_pass_is_about_every_task(self):
        edit = {
            "tool_name": "Edit",
            "arguments": {"file_path": "a.rb", "old_string": "x", "new_string": "y"},
            "result": "ok",
        }

        assert found(
            tool_usage=[
                call("make lint", "$ rubocop\n3 offenses detected", failed=True),
                edit,
                call("make lint", "$ rubocop\nno offenses detected"),
            ]
        ) == [["always"]]


class TestPeople:
    @pytest.mark.parametrize(
        ("feedback", "where"),
        [
            ("Always write a changelog line before you commit.", ["always"]),
            ("Never push to main directly; open a pull request.", ["always"]),
            ("Always round amounts in invoices to 2 decimals.", []),
            (
                "In billing/export.py always use Decimal instead of float.",
                ["path:billing/export.py"],
            ),
        ],
    )
    def test_how_the_project_works_is_told_from_topics(self, feedback, where):
        assert found(feedback=feedback) == [where]
