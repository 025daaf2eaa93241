from __future__ import annotations

import pytest

from bench.judge.failure_class import (
    FailureClass,
    classify,
    is_rejected,
)
from bench.judge.lint_issues import LintIssue, read_issues
from bench.judge.session_calls import SessionCall
from bench.judge.shell_command import (
    is_only_reading,
    split_segments,
)


def bash(command: str, result: str, *, is_error: bool = False) -> SessionCall:
    return SessionCall("1", "Bash", {"command": command}, result, is_error)


RUFF = "F401 `os` imported but unused\n --> shop/a.py:1:8\n  |\n1 | import os\n"
ESLINT = "src/cart.ts\n  3:5  error  'x' is never used  no-unused-vars\n"


class TestClass:
    @pytest.mark.parametrize(
        ("command", "result", "kind"),
        [
            (
                "go build ./... | tail",
                "shop/a.go:3:5: undefined: cart",
                "compile and test",
            ),
            ("go test ./...", "--- FAIL: TestCart (0.01s)", "compile and test"),
            (
                "pytest | tail -3",
                "FAILED tests/test_cart.py::test_it",
                "compile and test",
            ),
            ("npx jest", "Tests:       1 failed, 4 passed", "compile and test"),
            (
                "cargo test",
                "test result: FAILED. 3 passed; 1 failed",
                "compile and test",
            ),
            ("npx tsc", "src/cart.ts(3,5): error TS2322: no", "compile and test"),
            ("mypy .", "shop/cart.py:3: error: No [arg-type]", "compile and test"),
            ("make lint", "a.go:3:5: not checked (errcheck)", "lint"),
            ("ruff check .", "shop/a.py:3:5: E501 Line too long", "lint"),
            ("ruff check .", f"{RUFF}\nFound 1 error.", "lint"),
            ("npx eslint . | tail", f"{ESLINT}\n✖ 1 problem (1 error)", "lint"),
            ("python shop.py", "ModuleNotFoundError: No module named 'x'", "shell"),
            ("node shop.js", "Error: Cannot find module 'express'", "shell"),
            ("gh pr diff --stat | head", "unknown flag: --stat", "shell"),
            ("python -c 'print 1'", "SyntaxError: invalid syntax", "shell"),
            ("./try.sh; echo $?", "exit code: 2", "shell"),
        ],
    )
    def test_the_text_of_a_command_tells_its_class(self, command, result, kind):
        assert classify(bash(command, result)) == kind

    @pytest.mark.parametrize(
        ("command", "result"),
        [
            ("cat notes.txt", "a.go:3:5: undefined: cart"),
            ("git log | grep FAIL", "FAIL of yesterday"),
            ("go vet ./...", "a.go:3:5: warning: deprecated"),
            ("pytest", "==== 4 passed in 0.1s ===="),
            ("make lint", "0 issues."),
        ],
    )
    def test_a_text_about_failures_is_no_failure(self, command, result):
        assert classify(bash(command, result)) is None

    def test_a_rejected_call_did_not_fail(self):
        call = bash("git push", "The user doesn't want to proceed", is_error=True)

        assert is_rejected(call)
        assert classify(call) is None

    def test_the_harness_speaks_in_fixed_texts(self):
        text = "<tool_use_error>File has not been read yet.</tool_use_error>"
        call = SessionCall("1", "Edit", {"file_path": "a.py"}, text, is_error=True)

        assert classify(call) is FailureClass.ETIQUETTE

    def test_a_file_that_is_not_there_is_a_wrong_path(self):
        text = "File does not exist."
        call = SessionCall("1", "Read", {"file_path": "a.py"}, text, is_error=True)

        assert classify(call) is FailureClass.PATH

    def test_the_error_of_another_tool_has_a_class_of_its_own(self):
        call = SessionCall("1", "mcp__jira__get", {"id": 1}, "404", is_error=True)

        assert classify(call) is FailureClass.TOOL


class TestIssues:
    @pytest.mark.parametrize(
        ("report", "issue"),
        [
            (
                "shop/a.go:3:5: Error return value is not checked (errcheck)\n\tsave(cart)\n\t^",
                LintIssue(
                    "shop/a.go",
                    3,
                    "errcheck",
                    "Error return value is not checked",
                    "save(cart)",
                ),
            ),
            (
                "shop/a.py:3:80: E501 Line too long (94 > 88)",
                LintIssue("shop/a.py", 3, "E501", "Line too long (94 > 88)"),
            ),
            (
                "F401 [*] `os` imported but unused\n --> shop/a.py:1:8\n  |\n1 | import os\n",
                LintIssue(
                    "shop/a.py", 1, "F401", "`os` imported but unused", "import os"
                ),
            ),
            (
                "src/cart.ts\n  3:5  error  'x' is never used  no-unused-vars\n",
                LintIssue("src/cart.ts", 3, "no-unused-vars", "'x' is never used"),
            ),
            (
                "warning: redundant clone\n --> src/a.rs:7:9\n  |\n7 |     cart.clone()\n  |\n"
                "  = note: `#[warn(clippy::redundant_clone)]` on by default\n",
                LintIssue(
                    "src/a.rs", 7, "redundant_clone", "redundant clone", "cart.clone()"
                ),
            ),
            (
                "app/a.rb:3:5: C: [Correctable] Style/StringLiterals: Prefer single quotes",
                LintIssue(
                    "app/a.rb", 3, "Style/StringLiterals", "Prefer single quotes"
                ),
            ),
            (
                "In run.sh line 4:\nrm $dir\n   ^--^ SC2086 (info): Quote it.",
                LintIssue("run.sh", 4, "SC2086", "Quote it."),
            ),
        ],
    )
    def test_it_reads_the_reports_of_linters(self, report, issue):
        assert read_issues(report) == (issue,)

    @pytest.mark.parametrize(
        "report",
        [
            "shop/a.go:3:5: undefined: cart (typecheck)",
            "error[E0308]: mismatched types\n --> src/a.rs:7:9",
            "src/cart.ts(3,5): error TS2322: no",
            "    cart_test.go:33: got 1 (want)",
        ],
    )
    def test_the_errors_of_a_compiler_are_no_issues(self, report):
        assert read_issues(report) == ()

    def test_the_same_rule_has_the_same_signature_in_another_file(self):
        report = "\n".join(
            [
                "a.py:1:1: F841 Local variable `cart` is never used",
                "b/c.py:90:7: F841 Local variable `total_price` is never used",
            ]
        )

        first, second = read_issues(report)

        assert first.signature == second.signature


class TestCommand:
    def test_it_finds_the_programs_behind_wrappers_and_assignments(self):
        command = 'cd shop && DEBUG=1 timeout 30 uv run pytest -x "a b" 2>&1 | tail -5'

        programs = [segment.program for segment in split_segments(command)]

        assert programs == ["cd", "pytest", "tail"]

    def test_the_text_of_a_heredoc_is_no_command(self):
        command = "python3 - <<'EOF'\nimport os; rm(1)\nEOF\nmake lint"

        programs = [segment.program for segment in split_segments(command)]

        assert programs == ["python3", "make"]

    def test_a_pipe_of_readers_only_reads(self):
        assert is_only_reading("cat a.log | grep -n error | head")
        assert not is_only_reading("make test | grep -n error")
