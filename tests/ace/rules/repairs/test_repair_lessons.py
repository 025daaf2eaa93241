from __future__ import annotations

import pytest

from ace.rules import evidence, lessons, task
from ace.rules.outcome import task_outcome


def draw(*calls, outcome="success", goal="g"):
    usage = [
        {"tool_name": name, "arguments": arguments, "result": result}
        for name, arguments, result in calls
    ]
    parsed_task = task.parse({"goal": goal, "outcome": outcome, "tool_usage": usage})
    return lessons.draw(
        parsed_task, task_outcome.resolve(parsed_task), evidence.find(parsed_task)
    )


def contents(*calls, **fields):
    return [lesson.content for lesson in draw(*calls, **fields).lessons]


def bash(command, result):
    return ("Bash", {"command": command}, result)


class TestArguments:
    def test_a_renamed_argument(self):
        found = contents(
            ("load", {"path": "x"}, "TypeError: unexpected keyword argument 'path'"),
            ("load", {"file_path": "x"}, "ok"),
        )

        assert found == [
            "When calling `load`, pass `file_path` instead of `path`: "
            "\"TypeError: unexpected keyword argument 'path'\"."
        ]

    def test_a_missing_argument(self):
        found = contents(
            ("bill", {"customer": "c1"}, '{"error": "currency is required"}'),
            ("bill", {"customer": "c1", "currency": "EUR"}, '{"id": 5}'),
        )

        assert found == [
            "When calling `bill`, pass `currency` instead of leaving it out: "
            '"currency is required".'
        ]

    def test_a_value_of_another_type(self):
        found = contents(
            (
                "resize",
                {"width": "300", "name": "a"},
                "Error: width must be an integer",
            ),
            ("resize", {"width": 300, "name": "a"}, "ok"),
        )

        assert "pass `width` as a number instead of text" in found[0]

    def test_a_value_that_should_be_a_list(self):
        found = contents(
            ("tag", {"id": 7, "labels": "red"}, "Error: labels must be an array"),
            ("tag", {"id": 7, "labels": ["red"]}, "ok"),
        )

        assert "pass `labels` as a list instead of a bare value" in found[0]

    def test_a_value_in_another_format(self):
        found = contents(
            ("find", {"to": "JFK", "day": "05/20/2024"}, "Error: invalid day, use the date format YYYY-MM-DD"),
            ("find", {"to": "JFK", "day": "2024-05-20"}, "[1]"),
        )  # fmt: skip

        assert 'pass `day` in the form "2024-05-20"' in found[0]

    def test_one_of_a_closed_set(self):
        found = contents(
            ("close", {"id": 1, "state": "done"}, "Error: state 'done' is not allowed"),
            ("close", {"id": 1, "state": "closed"}, "ok"),
        )

        assert 'pass `state` as "closed" instead of "done"' in found[0]

    def test_ids_of_two_kinds_differ_by_kind_only(self):
        found = contents(
            ("refund", {"order": "a", "method": "voucher_7719"}, "Error: voucher cannot be used to refund"),
            ("refund", {"order": "a", "method": "bank_card_5523"}, "ok"),
        )  # fmt: skip

        assert found == [
            "When calling `refund`, pass a `method` that starts with "
            '"bank_card_" instead of "voucher_": "voucher cannot be used to refund".'
        ]

    def test_a_value_from_the_result_of_another_tool(self):
        found = contents(
            ("refund", {"order": "a", "method": "card_12"}, "Error: method not found"),
            ("get_customer", {"order": "a"}, '{"methods": ["card_998877"]}'),
            ("refund", {"order": "a", "method": "card_998877"}, "ok"),
        )

        assert "take `method` from `get_customer` instead of guessing it" in found[0]

    def test_a_sum_the_error_names(self):
        found = contents(
            ("book", {"seat": "a", "amount": 304}, "Error: amount does not add up, total price is 608, but paid 304"),
            ("book", {"seat": "a", "amount": 608}, "ok"),
        )  # fmt: skip

        assert found == [
            "When calling `book`, pass as `amount` the value the error gives after "
            '"total price" instead of the one after "paid": "amount does not add up".'
        ]

    def test_an_id_without_its_prefix(self):
        found = contents(
            ("get_order", {"order_id": "8476"}, "Error: order not found"),
            ("get_order", {"order_id": "#W8476"}, "{}"),
        )

        assert 'start `order_id` with "#W"' in found[0]

    def test_a_file_that_lives_elsewhere(self):
        found = contents(
            ("Read", {"file_path": "src/models.py"}, "File does not exist."),
            ("Read", {"file_path": "app/models.py"}, "class A: pass"),
        )

        assert "use the path `app/models.py` instead of `src/models.py`" in found[0]

    def test_lost_indentation(self):
        found = contents(
            bash("edit 3:3\nreturn 1\nend_of_edit", "Your proposed edit has introduced new syntax error(s).\n- E999 IndentationError: unexpected indent"),
            bash("edit 3:3\n    return 1\nend_of_edit", "[File: /r/a.py (9 lines total)]"),
        )  # fmt: skip

        assert found == [
            "When calling `edit`, keep the full leading whitespace of every line "
            'instead of dropping it: "E999 IndentationError: unexpected indent".'
        ]

    def test_changed_white_space(self):
        found = contents(
            ("apply_patch", {"input": "@@\n-x=1\n+x=2"}, "Error: Failed to find lines"),
            ("apply_patch", {"input": "@@\n-x = 1\n+x = 2"}, "Done"),
        )

        assert "copy the whitespace of the file exactly" in found[0]

    def test_a_call_that_must_come_first(self):
        edit = {"file_path": "a.py", "old_string": "x", "new_string": "y"}
        found = contents(
            ("Edit", edit, "<error>File has not been read yet</error>"),
            ("Read", {"file_path": "a.py"}, "x"),
            ("Edit", edit, "ok"),
        )

        assert found == [
            "When calling `Edit`, call `Read` first: "
            '"File has not been read yet".'
        ]  # fmt: skip


class TestCommands:
    def test_a_program_under_another_name(self):
        found = contents(
            bash("python manage.py check", "bash: python: command not found"),
            bash("python3 manage.py check", "System check identified no issues"),
        )

        assert found == [
            "When calling `python`, use `python3` instead of `python`: "
            '"python: command not found".'
        ]

    def test_a_program_that_is_not_there(self):
        found = contents(
            bash("rg login src", "bash: rg: command not found"),
            bash("grep -rn login src", "src/a.py:3:login"),
        )

        assert "use `grep` instead of `rg`" in found[0]

    def test_a_password_in_a_command_is_never_the_lesson(self):
        found = contents(
            bash("bin/load --all", "usage: load\nload: error: missing option --url"),
            bash("bin/load --all --url postgres://u:hunter2@h/db", "done"),
        )

        assert found == []

    def test_an_option_the_error_asks_for(self):
        found = contents(
            bash("git push", "fatal: The current branch has no upstream branch."),
            bash("git push --set-upstream origin x", "done"),
        )

        assert "run `git push --set-upstream origin x`" in found[0]

    @pytest.mark.parametrize(
        ("first", "error", "second"),
        [
            ("pytest", "1 failed, 2 passed in 1s", "pytest -k other"),
            ("ls src", "ls: src: No such file or directory", "ls lib"),
            ("submit flag{a}", "Wrong flag!", "submit flag{b}"),
            ("cat a.py", "cat: a.py: No such file or directory", "cat b.py"),
        ],
    )
    def test_another_question_is_no_repair(self, first, error, second):
        assert contents(bash(first, error), bash(second, "ok 1")) == []

    def test_a_file_change_in_between_may_be_the_fix(self):
        found = contents(
            bash("python a.py --fast", "usage: a.py\na.py: error: unrecognized arguments: --fast"),
            ("Edit", {"file_path": "a.py", "old_string": "x", "new_string": "y"}, "ok"),
            bash("python a.py", "fine"),
        )  # fmt: skip

        assert found == []


class TestAbstaining:
    FAILED = ("bill", {"who": "c"}, '{"error": "currency is required"}')
    FIXED = ("bill", {"who": "c", "currency": "EUR"}, '{"id": 5}')

    def test_an_unknown_outcome_gives_no_lesson(self):
        found = draw(self.FAILED, self.FIXED, outcome="unknown")

        assert found.lessons == []
        assert found.abstention == "the outcome is unknown: the caller says unknown"

    def test_it_still_gives_insights(self):
        found = draw(self.FAILED, self.FIXED, outcome="unknown")

        assert [insight.insight_type for insight in found.insights] == ["error"]

    def test_a_failed_task_makes_the_lesson_less_sure(self):
        sure = draw(self.FAILED, self.FIXED).lessons[0].confidence
        unsure = draw(self.FAILED, self.FIXED, outcome="failure").lessons[0].confidence

        assert unsure < sure

    @pytest.mark.parametrize(
        ("before", "error", "after"),
        [
            ({"order_id": "W1234"}, "order not found", {"order_id": "W9876"}),
            ({"seat": "HAT290", "n": 1}, "not enough seats on HAT290", {"seat": "HAT271", "n": 1}),
            ({"card": "gift_12", "cabin": "a"}, "gift card balance is too low", {"card": "gift_12", "cabin": "b"}),
            ({"a": 1, "b": 2, "c": 3, "d": 4, "e": 5}, "bad", {"a": 6, "b": 7, "c": 8, "d": 9, "e": 0}),
        ],
    )  # fmt: skip
    def test_a_value_of_one_task_is_no_lesson(self, before, error, after):
        assert contents(("do", before, f"Error: {error}"), ("do", after, "ok")) == []

    def test_a_secret_is_never_the_lesson(self):
        found = contents(
            ("api", {"url": "/v1", "token": "abc"}, "Error: invalid token"),
            ("api", {"url": "/v1", "token": "hunter"}, "ok"),
        )

        assert "hunter" not in " ".join(found)

    def test_a_task_without_errors_gives_no_lesson(self):
        found = draw(("Read", {"file_path": "a.py"}, "x"))

        assert (found.lessons, found.insights) == ([], [])
        assert found.abstention == "nothing in the task names an action to take"

    def test_a_lesson_occurs_once(self):
        found = contents(self.FAILED, self.FIXED, self.FAILED, self.FIXED)

        assert len(found) == 1
