"""The errors of a task, and the sentences that name their root causes."""

from __future__ import annotations

import pytest

from ace.lessons import told_errors
from ace.task import task as tasks
from ace.task import task_outcome


def find(**request):
    task = tasks.parse({"goal": "g", **request})
    found = told_errors.find(task, task_outcome.resolve(task))
    for error in found:
        for quote in error.evidence:
            assert task.text(quote.field)[quote.start : quote.end] == quote.quote
    return [(each.error_type, each.message, each.root_cause) for each in found]


def call(result, name="load_table"):
    return {"tool_name": name, "arguments": {}, "result": result}


class TestCalls:
    def test_a_traceback_is_one_error_that_its_last_line_states(self):
        printed = (
            'Traceback (most recent call last):\n  File "db.py", line 3, in connect\n'
            "    connect()\nTimeoutError: timed out after 31s"
        )

        assert find(tool_usage=[call(printed)]) == [
            ("TimeoutError", "timed out after 31s", "")
        ]

    def test_errors_beside_each_other_stay_two_in_their_order(self):
        found = find(tool_usage=[call("Error:\nKeyError: 'stock'\nPermissionError: x")])

        assert [kind for kind, *_ in found][-2:] == ["KeyError", "PermissionError"]

    def test_the_same_error_of_two_calls_counts_once(self):
        calls = [call(f"Error: timed out after {n}s") for n in (31, 29)]

        assert len(find(tool_usage=calls)) == 1

    def test_a_call_that_worked_shows_none(self):
        assert find(tool_usage=[call("x\nValueError: old", "Read")]) == []

    def test_without_a_known_form_it_is_the_first_line(self):
        failed = {**call("The cart is closed.\nTry later."), "is_error": True}

        assert find(tool_usage=[failed]) == [("error", "The cart is closed.", "")]


class TestWords:
    def test_feedback_tells_the_error_and_its_root_cause(self):
        found = find(
            feedback="The export timed out because the query has no index on "
            "invoices.customer_id. Root cause: missing index. Next time add the index."
        )

        assert found == [
            (
                "timeout",
                "The export timed out because the query has no index on "
                "invoices.customer_id.",
                "Root cause: missing index.",
            )
        ]

    @pytest.mark.parametrize(
        ("feedback", "cause"),
        [
            ("It crashed because the queue was full.", "It crashed because the queue was full."),
            ("The job failed. The reason was a stale lock.", "The reason was a stale lock."),
            ("Der Export schlug fehl. Ursache: kein Index.", "Ursache: kein Index."),
            ("L'import a échoué parce que le disque est plein.", "L'import a échoué parce que le disque est plein."),
            ("导入失败 因为磁盘已满。", "导入失败 因为磁盘已满。"),
            ("The job failed.", ""),
        ],
    )  # fmt: skip
    def test_the_cause_is_the_sentence_that_names_it(self, feedback, cause):
        ((_, _, found),) = find(feedback=feedback)

        assert found == cause

    def test_the_cause_of_a_failed_call_shares_its_words(self):
        found = find(
            tool_usage=[
                call("Error: no such table: invoices"),
                call("Error: bad port"),
            ],
            feedback="The invoices were missing because nobody ran the migrations.",
        )

        assert [cause for _, _, cause in found] == [
            "The invoices were missing because nobody ran the migrations.",
            "",
        ]

    def test_what_a_result_tells_of_a_success_was_mended(self):
        result = "Added a page for errors."

        assert find(result=result, outcome="success") == []
        assert find(result=result, outcome="failure")

    def test_what_to_do_next_time_is_quoted(self):
        task = tasks.parse(
            {"goal": "g", "feedback": "It broke. Next time, dump first."}
        )

        (advice,) = told_errors.find_advice(task)

        assert advice.quote == "Next time, dump first."
