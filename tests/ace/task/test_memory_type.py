from __future__ import annotations

import pytest

from ace.task import memory_type, task
from memories.store import memory_types


def type_of(goal, result="", feedback="", outcome="success"):
    request = {"goal": goal, "result": result, "feedback": feedback}
    return memory_type.memory_type(task.parse(request), outcome)


class TestTasks:
    @pytest.mark.parametrize(
        ("goal", "result", "expected"),
        [
            ("Fix the login timeout", "Raised the limit", "error_fix"),
            ("Users see a crash on save", "Resolved by a null check", "error_fix"),
            (
                "Explain how the auth module works",
                "It has two layers",
                "codebase_knowledge",
            ),
            (
                "Where is the retry logic defined in the code?",
                "x",
                "codebase_knowledge",
            ),
            ("Decide between Kafka and RabbitMQ", "RabbitMQ", "decision"),
            ("Investigate the slow queries", "An index is missing", "discovery"),
            ("Add a settings page", "Added", "learning"),
            ("Add a cache", "We chose Redis rather than memcached", "decision"),
        ],
    )
    def test_the_goal_decides_first(self, goal, result, expected):
        assert type_of(goal, result) == expected

    @pytest.mark.parametrize(
        ("goal", "result"),
        [
            ("Add a prefix to the table names", "Done"),
            ("Add the suffix field", "0 errors, no warnings"),
            ("Make the column fixed-width", "Done without any errors"),
            ("Write error handling for uploads", "Added"),
            ("Add a bug tracker link", "Linked"),
        ],
    )
    def test_parts_of_words_and_absent_errors_are_no_fix(self, goal, result):
        assert type_of(goal, result) == "learning"

    def test_a_fix_that_failed_is_a_warning(self):
        assert type_of("Fix the parser", "Tried", outcome="failure") == "warning"

    def test_words_inside_code_are_ignored(self):
        goal = (
            "def pick(xs):\n    '''Choose one; raise an error if none, fix later'''\n"
        )

        assert type_of(goal, "def pick(xs):\n    return xs[0]") == "learning"

    def test_blank_texts_are_learning(self):
        assert type_of("", "", outcome="unknown") == "learning"


class TestTextsAlone:
    @pytest.mark.parametrize(
        ("content", "expected"),
        [
            ("Fixed the deadlock by sorting the locks", "error_fix"),
            ("Never run migrations by hand in production", "warning"),
            ("We decided on PostgreSQL for the queue", "decision"),
            ("It turns out that the API pages at 50 rows", "discovery"),
            ("The billing module depends on accounts", "codebase_knowledge"),
            ("Alice likes short reports", "learning"),
            ("The prefix is stored with 0 errors", "learning"),
        ],
    )
    def test_each_type_has_its_words(self, content, expected):
        assert memory_types.classify(content) == expected
