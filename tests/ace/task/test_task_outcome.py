from __future__ import annotations

import pytest

from ace.task import task, task_outcome


def resolve(*calls, **fields):
    usage = [
        {"tool_name": name, "arguments": arguments, "result": result}
        for name, arguments, result in calls
    ]
    return task_outcome.resolve(
        task.parse({"goal": "g", "tool_usage": usage, **fields})
    )


def run(command, result):
    return ("Bash", {"command": command}, result)


class TestExplicit:
    @pytest.mark.parametrize("value", ["success", "partial", "failure"])
    def test_the_outcome_of_the_caller_wins(self, value):
        found = resolve(run("pytest", "1 failed in 0.1s"), outcome=value)

        assert (found.value, found.source) == (value, "explicit")

    def test_an_explicit_unknown_is_kept(self):
        found = resolve(run("pytest", "3 passed in 0.1s"), outcome="unknown")

        assert (found.value, found.source) == ("unknown", "explicit")

    @pytest.mark.parametrize(
        ("feedback", "value"),
        [("reward 1", "success"), ("reward 0.0", "failure"), ("Reward: 0.5", "partial"),
         ("score = 1.0", "success"), ("reward 1 then reward 0", "unknown")],
    )  # fmt: skip
    def test_an_environments_reward_counts(self, feedback, value):
        assert resolve(feedback=feedback, feedback_source="environment").value == value

    def test_a_reward_an_agent_claims_does_not(self):
        assert resolve(feedback="reward 1", feedback_source="agent").value == "unknown"


class TestTests:
    @pytest.mark.parametrize(
        ("report", "value"),
        [
            ("5 passed in 0.1s", "success"),
            ("5 failed in 0.1s", "failure"),
            ("2 failed, 3 passed in 0.1s", "partial"),
        ],
    )
    def test_the_last_report_counts(self, report, value):
        found = resolve(run("pytest", "1 failed in 0.1s"), run("pytest", report))

        assert (found.value, found.source) == (value, "tests")

    def test_a_report_in_the_feedback_counts(self):
        found = resolve(feedback="3 passed, 0 failed", feedback_source="test")

        assert (found.value, found.source) == ("success", "tests")

    def test_of_two_parts_the_last_verdict_counts(self):
        found = resolve(
            run("pytest tests/a.py", "2 failed in 0.1s"),
            run("pytest tests/b.py", "2 passed in 0.1s"),
        )

        assert (found.value, found.confidence) == ("success", 0.7)

    def test_a_later_check_of_another_kind_counts(self):
        found = resolve(
            run("pytest tests/a.py", "2 failed in 0.1s"),
            ("Bash", {"command": "make check"}, "done"),
        )
        broken = resolve(
            ("Bash", {"command": "make check"}, "done"),
            run("pytest tests/a.py", "2 failed in 0.1s"),
        )

        assert (found.value, found.source) == ("success", "tool_status")
        assert (broken.value, broken.source) == ("failure", "tests")

    def test_a_run_of_everything_replaces_a_run_of_one_part(self):
        found = resolve(
            run("pytest tests/a.py", "2 failed in 0.1s"),
            run("pytest", "4 passed in 1s"),
        )

        assert found.value == "success"

    def test_a_report_in_the_feedback_comes_after_the_run(self):
        found = resolve(
            run("pytest", "4 passed in 1s"),
            feedback="1 passed, 3 failed",
            feedback_source="test",
        )

        assert found.value == "partial"


class TestToolStatuses:
    def test_the_same_command_that_failed_and_now_works(self):
        found = resolve(
            run("python try.py", "Traceback (most recent call last):\nValueError: x"),
            run("python try.py", "fine"),
        )

        assert (found.value, found.source) == ("success", "tool_status")

    def test_of_two_checks_the_last_verdict_counts(self):
        found = resolve(
            run("make lint", "Error: 3 problems"),
            run("make build", "done"),
            run("make lint", "done"),
        )

        assert (found.value, found.source) == ("success", "tool_status")

    def test_a_script_that_runs_is_no_evidence(self):
        assert resolve(run("python try.py", "344")).value == "unknown"

    def test_a_linter_that_passes_is_a_check(self):
        assert resolve(run("ruff check .", "All checks passed!")).value == "success"

    def test_a_run_that_ends_broken_failed(self):
        assert resolve(run("node app.js", "Error: cannot start")).value == "failure"


class TestExpectations:
    def test_expected_and_actual_value_are_compared(self):
        assert resolve(feedback="expected: 5, got: 5").value == "success"
        assert resolve(feedback="Expected 5 but got 4").value == "failure"

    def test_an_answer_is_compared_with_the_goal(self):
        found = resolve(goal="Add. Expected output: 42", result="The sum is 42")

        assert (found.value, found.source) == ("success", "expectation")

    def test_prose_about_expectations_is_no_comparison(self):
        text = "The expected output does not match the actual output"

        assert resolve(feedback=text).source != "expectation"


class TestWording:
    @pytest.mark.parametrize(
        ("feedback", "value"),
        [
            ("Works, but next time use the cached client", "success"),
            ("Great work, thanks!", "success"),
            ("It is still broken", "failure"),
            ("This does not work", "failure"),
            ("Partially works", "partial"),
            ("It works but the export is still missing", "partial"),
            ("That should work", "unknown"),
            ("Not fixed", "failure"),
            ("Always run the linter", "unknown"),
        ],
    )
    def test_feedback_is_read(self, feedback, value):
        assert resolve(feedback=feedback, feedback_source="human").value == value

    def test_the_claim_of_an_answer_about_itself_is_no_evidence(self):
        assert resolve(result="I have successfully fixed it. Done!").value == "unknown"

    def test_praise_and_complaint_are_a_conflict(self):
        found = resolve(feedback="The list is correct. The page is broken.")

        assert found.value == "unknown"


class TestNothing:
    def test_nothing_is_unknown(self):
        found = resolve()

        assert (found.value, found.source, found.confidence) == ("unknown", "none", 0.0)
