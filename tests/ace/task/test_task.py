from __future__ import annotations

import json

import pytest

from ace.task import task as tasks


def parse(**fields):
    return tasks.parse({"goal": "Mend it", "result": "Mended", **fields})


def call(name="Bash", arguments=None, result="", **more):
    entry = {"tool_name": name, "arguments": arguments or {}, "result": result, **more}
    return parse(tool_usage=[entry]).calls[0]


class TestShape:
    def test_it_reads_the_three_texts(self):
        task = parse(feedback="Good")

        assert (task.goal, task.result, task.feedback) == ("Mend it", "Mended", "Good")

    @pytest.mark.parametrize("key", ["tool_name", "tool", "name"])
    def test_it_knows_the_aliases_of_a_tools_name(self, key):
        task = parse(tool_usage=[{key: "Read", "arguments": {}, "result": ""}])

        assert task.calls[0].tool_name == "Read"

    def test_it_parses_arguments_that_hold_json(self):
        found = call("Read", '{"file_path": "a.py"}')

        assert found.arguments == {"file_path": "a.py"}

    @pytest.mark.parametrize("text", ["ls -la", '{"broken', "[1, 2]", "42"])
    def test_it_keeps_a_string_that_is_no_object_as_input(self, text):
        assert call("Bash", text).arguments == {"input": text}

    def test_it_reads_a_step_of_a_recorded_terminal(self):
        task = parse(tool_usage=[{"action": "ls", "observation": "a.py"}])

        assert task.calls[0].command == "ls"
        assert task.calls[0].result == "a.py"

    def test_it_writes_a_result_that_is_no_text_as_json(self):
        assert call(result={"b": 1, "a": [2]}).result == '{"a": [2], "b": 1}'

    def test_it_ignores_an_outcome_it_does_not_know(self):
        assert parse(outcome="splendid").outcome is None

    @pytest.mark.parametrize("usage", [None, "ls", {"tool": "x"}, [None, 3, "x"]])
    def test_invalid_tool_usage_counts_as_none(self, usage):
        assert parse(tool_usage=usage).calls == ()

    def test_it_cuts_values_that_are_nested_too_deeply(self):
        nested: object = "end"
        for _ in range(500):
            nested = [nested]

        found = call("x", {"a": nested})

        assert tasks.CUT in found.arguments_text
        assert "end" not in found.arguments_text

    def test_it_keeps_deep_text_as_text(self):
        text = "[" * 100_000

        assert call("x", text).arguments == {"input": text}


class TestText:
    def test_each_field_has_its_text(self):
        task = parse(
            feedback="F",
            tool_usage=[{"tool": "T", "arguments": {"b": "é", "a": 1}, "result": "R"}],
        )

        assert task.text("goal") == "Mend it"
        assert task.text("feedback") == "F"
        assert task.text("tool_usage.0.result") == "R"
        assert task.text("tool_usage.0.tool_name") == "T"
        assert task.text("tool_usage.0.arguments") == '{"a": 1, "b": "é"}'

    def test_arguments_are_canonical_json(self):
        found = call("x", {"b": [1, {"z": None}], "a": True})

        assert json.loads(found.arguments_text) == found.arguments

    def test_arguments_that_arrive_as_a_string_stay_a_string(self):
        found = call("x", '{"b":1,  "a":"é"}')

        assert found.arguments == {"b": 1, "a": "é"}
        assert found.arguments_text == '{"b":1,  "a":"é"}'

    @pytest.mark.parametrize(
        "field",
        ["", "calls", "tool_usage", "tool_usage.0", "tool_usage.9.result",
         "tool_usage.-1.result", "tool_usage.0.index", "outcome"],
    )  # fmt: skip
    def test_it_refuses_a_field_that_does_not_exist(self, field):
        task = parse(tool_usage=[{"tool": "T"}])

        with pytest.raises(KeyError):
            task.text(field)


class TestWhetherACallFailed:
    @pytest.mark.parametrize(
        ("more", "expected"),
        [
            ({"is_error": True}, True),
            ({"is_error": False}, False),
            ({"success": False}, True),
            ({"exit_code": 0}, False),
            ({"exit_code": 2}, True),
            ({"status": "error"}, True),
            ({"status": "completed"}, False),
        ],
    )
    def test_the_flag_of_the_step_wins(self, more, expected):
        assert call(result="Error: looks bad", **more).has_failed is expected

    def test_a_pipe_hides_the_status_of_its_first_program(self):
        result = "[lint] ERROR task failed"

        piped, bare = (
            call(
                name="Bash",
                arguments={"command": command},
                result=result,
                is_error=False,
            )
            for command in ("mise run lint | tail -5", "mise run lint")
        )

        assert (piped.has_failed, bare.has_failed) == (True, False)

    @pytest.mark.parametrize(
        "result",
        [
            "Error: seat is taken",
            '{"error": "currency is required"}',
            '{"status": "error", "message": "no"}',
            "<tool_use_error>File has not been read yet.</tool_use_error>",
            "File does not exist.",
            "HTTP 503 Service Unavailable",
            "KeyError: 'price'",
        ],
    )
    def test_any_tools_result_may_begin_with_its_failure(self, result):
        assert call("lookup", {"id": 1}, result).has_failed is True

    @pytest.mark.parametrize(
        "result",
        [
            "collecting\nTraceback (most recent call last):\n  ...\nValueError: x",
            "bash: pithon: command not found",
            "==== 1 failed, 3 passed in 0.20s ====",
            "src/a.c:3:5: error: expected ';'",
            "building\nexit code 2",
            "warning: x\nnpm ERR! missing script: test",
        ],
    )
    def test_the_failure_of_a_command_may_be_anywhere_in_its_output(self, result):
        assert call("Bash", {"command": "make all"}, result).has_failed is True

    def test_the_output_of_a_reader_is_content(self):
        text = "line\nTraceback (most recent call last):\nValueError: old"

        assert call("Bash", {"command": "cat app.log"}, text).has_failed is False
        assert call("Read", {"file_path": "app.log"}, text).has_failed is False

    @pytest.mark.parametrize(
        "result", ["3 passed in 0.1s", "0 errors, 0 warnings", "exit code 0", "8.2"]
    )
    def test_a_quiet_report_is_no_failure(self, result):
        assert call("Bash", {"command": "pytest"}, result).has_failed is False

    def test_an_empty_result_shows_nothing(self):
        assert call("Bash", {"command": "rm a.py"}, "").has_failed is None

    def test_a_thought_neither_works_nor_fails(self):
        assert call("think", {"thought": "hm"}, "Error: in thought").has_failed is None
