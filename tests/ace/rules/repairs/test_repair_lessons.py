from __future__ import annotations

import pytest

from ace.lessons import fixes
from ace.rules import task


def draw(*calls, outcome="success", goal="g"):
    usage = [
        {"tool_name": name, "arguments": arguments, "result": result}
        for name, arguments, result in calls
    ]
    return fixes.find(
        task.parse({"goal": goal, "outcome": outcome, "tool_usage": usage})
    )


def contents(*calls, **fields):
    return [lesson.content for lesson in draw(*calls, **fields)]


def bash(command, result):
    return ("Bash", {"command": command}, result)


class TestArguments:
    def test_a_renamed_argument(self):
        found = contents(
            ("load", {"table": "x"}, "TypeError: unexpected keyword argument 'table'"),
            ("load", {"dataset": "x"}, "ok"),
        )

        assert found == [
            "When calling `load`, pass `dataset` instead of `table`: "
            "\"TypeError: unexpected keyword argument 'table'\"."
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

    def test_a_value_that_the_error_offers(self):
        error = "Error: template Welcome Mail not found. Templates: welcome, goodbye."
        found = contents(
            ("send", {"template": "Welcome Mail", "to": "a"}, error),
            ("send", {"template": "welcome", "to": "a"}, "sent"),
        )

        assert 'pass `template` as "welcome" instead of "Welcome Mail"' in found[0]

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

    def test_an_id_without_its_prefix(self):
        found = contents(
            ("get_order", {"order_id": "8476"}, "Error: order not found"),
            ("get_order", {"order_id": "#W8476"}, "{}"),
        )

        assert 'start `order_id` with "#W"' in found[0]

    def test_a_call_that_must_come_first(self):
        order = {"customer": "c1", "item": "a"}
        found = contents(
            ("place_order", order, "Error: open a basket before placing an order"),
            ("open_basket", {"customer": "c1"}, "basket 5"),
            ("place_order", order, "ok"),
        )

        assert found == [
            "When calling `place_order`, call `open_basket` first: "
            '"open a basket before placing an order".'
        ]

    def test_a_balance_that_is_too_low_says_nothing_of_the_kind_of_card(self):
        found = contents(
            ("refund", {"order": "a", "method": "gift_card_7719"}, "Error: gift card balance is not enough"),
            ("refund", {"order": "a", "method": "bank_card_5523"}, "ok"),
        )  # fmt: skip

        assert found == []

    def test_a_present_argument_is_not_what_was_missing(self):
        found = contents(
            ("bill", {"customer": "c1"}, "Error: balance of the payment is too low"),
            ("bill", {"customer": "c1", "payment": "card"}, "ok"),
        )

        assert found == []


class TestHarness:
    """Every agent knows how the tools of a harness read and edit files."""

    EDIT = {"file_path": "a.py", "old_string": "x", "new_string": "y"}

    @pytest.mark.parametrize(
        "calls",
        [
            [
                ("Edit", EDIT, "<error>File has not been read yet</error>"),
                ("Read", {"file_path": "a.py"}, "x"),
                ("Edit", EDIT, "ok"),
            ],
            [
                ("Read", {"file_path": "src/models.py"}, "File does not exist."),
                ("Read", {"file_path": "app/models.py"}, "class A: pass"),
            ],
            [
                ("Edit", EDIT, "String to replace not found in file."),
                ("Edit", EDIT | {"old_string": "handleBefore"}, "ok"),
            ],
            [
                bash("edit 3:3\nreturn 1\nend_of_edit", "Your proposed edit has introduced new syntax error(s).\n- E999 IndentationError: unexpected indent"),
                bash("edit 3:3\n    return 1\nend_of_edit", "[File: /r/a.py (9 lines total)]"),
            ],
        ],
    )  # fmt: skip
    def test_its_etiquette_is_no_lesson(self, calls):
        assert contents(*calls) == []

    def test_which_arguments_a_tool_for_files_takes(self):
        error = "TypeError: edit_file() got an unexpected keyword argument 'file'"
        found = contents(
            ("edit_file", {"file": "a.py", "text": "x"}, error),
            ("edit_file", {"path": "a.py", "text": "x"}, "ok"),
        )

        assert "pass `path` instead of `file`" in found[0]


class TestCommands:
    def test_a_flag_that_the_program_does_not_know(self):
        found = contents(
            bash("cd app && hub pr view 7 --changed 2>&1 | head", "unknown flag: --changed\n\nUsage: hub pr view [flags]"),
            bash("cd app && hub pr view 7 --files 2>&1 | head", "a.py"),
        )  # fmt: skip

        assert found == [
            "When running `hub pr view`, use `--files` instead of `--changed`: "
            '"unknown flag: --changed".'
        ]

    def test_a_flag_that_is_left_out(self):
        found = contents(
            bash(
                "REGION=eu deploy run --fast app", "Error: unrecognized option --fast"
            ),
            bash("REGION=eu deploy run app", "done"),
        )

        assert "do not pass `--fast`" in found[0]

    def test_an_argument_that_the_shell_reads_for_itself(self):
        found = contents(
            bash("fetchit list items?per_page=9", "zsh: no matches found: items?per_page=9"),
            bash("fetchit list 'items?per_page=9'", "[]"),
        )  # fmt: skip

        assert "put an argument such as `'items?per_page=9'` in quotes" in found[0]

    def test_the_first_error_must_be_gone(self):
        found = contents(
            bash("deploy run --fast app", "Error: unknown option --fast"),
            bash("deploy run --fast app --dry", "Error: unknown option --fast"),
        )

        assert found == []

    def test_a_check_that_reports_findings_has_accepted_its_flags(self):
        found = contents(
            bash("golangci-lint run --form=line", "Error: unknown flag: --form"),
            bash("golangci-lint run", "a/b.go:3:1: comment is missing (godot)"),
        )

        assert "When running `golangci-lint run`, do not pass `--form`" in found[0]

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

        assert found == [
            "When running `git push`, pass `--set-upstream`: "
            '"The current branch has no upstream branch".'
        ]

    @pytest.mark.parametrize(
        ("first", "error", "second"),
        [
            ("pytest", "1 failed, 2 passed in 1s", "pytest -k other"),
            ("ls src", "ls: src: No such file or directory", "ls lib"),
            ("submit flag{a}", "Wrong flag!", "submit flag{b}"),
            ("cat a.py", "cat: a.py: No such file or directory", "cat b.py"),
            # What a machine has is a fact of that machine.
            ("sed -i s/a/b/ x", "sed: command not found", "gsed -i s/a/b/ x"),
            # The operand was missing, and not the flag.
            (
                "kubectl logs",
                "error: POD is a required argument",
                "kubectl logs api -n dev",
            ),
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

    def test_a_repair_is_true_whatever_the_outcome(self):
        found = draw(self.FAILED, self.FIXED, outcome="unknown")

        assert ["pass `currency`" in lesson.content for lesson in found] == [True]

    def test_a_failed_task_makes_the_lesson_less_sure(self):
        sure = draw(self.FAILED, self.FIXED)[0].confidence
        unsure = draw(self.FAILED, self.FIXED, outcome="failure")[0].confidence

        assert unsure < sure

    @pytest.mark.parametrize(
        ("before", "error", "after"),
        [
            ({"order_id": "W1234"}, "order not found", {"order_id": "W9876"}),
            ({"seat": "HAT290", "n": 1}, "not enough seats on HAT290", {"seat": "HAT271", "n": 1}),
            ({"card": "gift_12", "cabin": "a"}, "gift card balance is too low", {"card": "gift_12", "cabin": "b"}),
            ({"cabin": "business", "n": 1}, "only economy seats are left", {"cabin": "economy", "n": 1}),
            ({"status": "delivered", "n": 1}, "cannot be delivered before it was shipped", {"status": "shipped", "n": 1}),
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

        assert found == []

    def test_a_lesson_occurs_once(self):
        found = contents(self.FAILED, self.FIXED, self.FAILED, self.FIXED)

        assert len(set(found)) == 1
