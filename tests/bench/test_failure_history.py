from __future__ import annotations

from itertools import count

import pytest

from bench.judge.error_line import (
    BannerLines,
    find_error_line,
)
from bench.judge.failure_class import OF_THE_PROJECT
from bench.judge.failure_history import find_failures
from bench.judge.repairs import describe_change
from bench.judge.session_calls import (
    RecordedSession,
    RecordedTask,
    SessionCall,
)

ROOT = "/home/alice/shop"
NUMBERS = count()
TASK = RecordedTask("Mend it", "Done", "", "", "main")


def call(tool: str, result: str = "ok", *, is_error: bool = False, **arguments: str):
    number = str(next(NUMBERS))
    return SessionCall(number, tool, arguments, result, is_error, ROOT, task=0)


def bash(command: str, result: str = "ok", *, is_error: bool = False):
    return call("Bash", result, is_error=is_error, command=command)


def edit(path: str, old: str, new: str):
    return call("Edit", file_path=f"{ROOT}/{path}", old_string=old, new_string=new)


def replay(*sessions: list[SessionCall]):
    return find_failures(
        RecordedSession(f"{n}", (TASK,), tuple(calls))
        for n, calls in enumerate(sessions)
    )


GO = "{file}:3:2: Error return value of `{name}` is not checked (errcheck)\n\t{name}()\n\t^"


def go_lint(file: str, name: str) -> list[SessionCall]:
    return [
        bash("mise run lint 2>&1 | tail", GO.format(file=file, name=name)),
        edit(file, f"\t{name}()", f"\tif err := {name}(); err != nil {{"),
        bash("mise run fmt && mise run lint", "0 issues."),
    ]


class TestLint:
    def test_a_repair_of_an_earlier_session_is_known_and_right(self):
        first, second = replay(go_lint("a.go", "save"), go_lint("b/c.go", "load"))

        assert not first.known
        assert second.seen_in == {0}
        assert second.suggestion.kind == "handle"
        assert second.is_right

    def test_another_cure_of_the_same_rule_is_not_what_the_first_suggestion_said(self):
        report = "shop/a.py:3:1: F841 Local variable `x` is never used"
        handled = [
            bash("ruff check .", report, is_error=True),
            edit("shop/a.py", "x = 1", "y = 2"),
            bash("ruff check .", "All checks passed!"),
        ]
        suppressed = [
            bash("ruff check .", report, is_error=True),
            edit("shop/a.py", "x = 1", "x = 1  # noqa: F841"),
            bash("ruff check .", "All checks passed!"),
        ]

        _, second = replay(handled, suppressed)

        assert second.suggestion.kind == "rewrite"
        assert not second.is_right

    def test_an_issue_that_stays_is_not_repaired(self):
        calls = go_lint("a.go", "save")[:2]

        (failure, _) = replay([*calls, calls[0]])

        assert not failure.repairs

    def test_an_edit_of_another_file_is_no_repair(self):
        calls = go_lint("a.go", "save")

        (failure,) = replay(
            [calls[0], edit("b.go", "\tsave()", "\t_ = save()"), calls[2]]
        )

        assert not failure.repairs

    def test_another_task_of_the_same_runner_is_not_the_same_command(self):
        calls = go_lint("a.go", "save")

        (failure,) = replay([*calls[:2], bash("mise run test", "ok shop 0.1s")])

        assert not failure.repairs

    def test_it_is_said_when_two_sessions_agree(self):
        sessions = [go_lint(f"{n}.go", f"save{n}") for n in "abc"]

        _, second, third = replay(*sessions)

        assert not second.suggestion.is_said
        assert third.suggestion.is_said


class TestShell:
    def test_another_interpreter_with_the_same_arguments_is_the_repair(self):
        failed = bash(
            "python -m shop.load", "bash: python: command not found", is_error=True
        )

        (failure,) = replay([failed, bash("python3 -m shop.load")])

        (repair,) = failure.repairs.values()
        assert repair.kind == "-python +pythonN"

    def test_a_flag_that_the_program_does_not_know_is_taken_away(self):
        failed = bash("gh pr diff 88 --stat", "unknown flag: --stat", is_error=True)
        again = bash("gh pr diff 104 --stat", "unknown flag: --stat", is_error=True)

        _, second = replay(
            [failed, bash("gh pr diff 88")], [again, bash("gh pr diff 104")]
        )

        assert second.suggestion.kind == "---stat"
        assert second.is_right

    def test_a_probe_is_no_repair(self):
        failed = bash(
            "node shop.js", "Error: Cannot find module 'express'", is_error=True
        )

        (failure,) = replay([failed, bash("node --version", "v20")])

        assert not failure.repairs

    def test_a_directory_that_the_shell_is_in_is_another_failure_than_a_missing_one(
        self,
    ):
        line = "bash: cd: {}: No such file or directory"

        inside, missing = replay(
            [bash("cd shop && ls", line.format("shop"), is_error=True)],
            [bash("cd cart && ls", line.format("cart"), is_error=True)],
        )

        assert inside.signatures != missing.signatures
        assert not missing.seen_in

    def test_a_missing_program_is_a_fact_of_one_machine(self):
        failed = bash("pnpm test", "bash: pnpm: command not found", is_error=True)
        elsewhere = SessionCall(
            "x", "Bash", failed.arguments, failed.result, True, "/home/bob/shop", task=0
        )

        _, second = replay([failed], [elsewhere])

        assert not second.seen_in

    def test_only_the_change_is_said(self):
        before = "cd /home/alice/shop && npm test -- --run cart"
        after = "cd /home/alice/shop && npm test -- --runInBand cart"

        assert describe_change(before, after) == "---run +--runInBand"
        assert describe_change(before, before) == ""


class TestPath:
    def test_the_next_file_that_the_tool_found_is_the_repair(self):
        def miss():
            path = f"{ROOT}/shop/cart.py"
            return call("Read", "File does not exist.", is_error=True, file_path=path)

        def hit():
            return call("Read", file_path=f"{ROOT}/shop/carts/cart.py")

        _, second = replay([miss(), hit()], [miss(), hit()])

        assert second.signatures == ("path Read shop/cart.py",)
        assert second.suggestion.kind == "shop/carts/cart.py"
        assert second.is_right


class TestNeverSaid:
    def test_compile_and_etiquette_are_counted_and_not_said(self):
        def session():
            return [
                bash("cargo build", "error[E0308]: mismatched types", is_error=True),
                edit("src/a.rs", "1", "2"),
                bash("cargo build"),
                call(
                    "Edit",
                    "File has not been read yet",
                    is_error=True,
                    file_path=f"{ROOT}/b.rs",
                ),
                call("Read", file_path=f"{ROOT}/b.rs"),
                edit("b.rs", "1", "2"),
            ]

        failures = replay(session(), session(), session())

        assert [bool(f.known) for f in failures] == [False] * 2 + [True] * 4
        assert not any(f.suggestion.is_said for f in failures[2:])
        assert not {failure.kind for failure in failures} & set(OF_THE_PROJECT)


class TestErrorLine:
    @pytest.mark.parametrize(
        ("text", "line"),
        [
            (
                'Traceback (most recent call last):\n  File "a.py", line 1, in <module>\n'
                "ValueError: no price\n",
                "ValueError: no price",
            ),
            (
                "Exit code 2\nusage: cart [-h]\ncart: error: unrecognized arguments: -x",
                None,
            ),
            ("error: could not load\ncart: unknown option --fast", None),
            ("> shop@1.0 test\nnpm ERR! code 1\nnpm ERR! Missing script: test", None),
        ],
    )
    def test_it_is_what_the_program_complains_about(self, text, line):
        wanted = line or text.splitlines()[-1]

        assert find_error_line(text, BannerLines()) == wanted

    def test_a_line_of_three_successful_sessions_is_a_banner(self):
        banners = BannerLines()
        for session in range(3):
            banners.add(session, ["error: telemetry is off\nok"])

        line = find_error_line("error: telemetry is off\nno price for 12", banners)

        assert line == "no price for 12"

    def test_what_was_not_found_is_never_a_banner(self):
        banners = BannerLines()
        for session in range(3):
            banners.add(session, ["cat: a.txt: No such file or directory"])

        text = "cat: b.txt: No such file or directory"

        assert find_error_line(text, banners) == text
