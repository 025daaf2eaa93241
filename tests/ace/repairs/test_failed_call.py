"""Which calls failed, of which class, and under which name the failure is known again."""

from __future__ import annotations

import pytest

from ace.repairs import commands, failed_call
from tests.ace.repairs.calls import bash, masked, read, tool

LINT = "a/b.go:3:5: Error return value of `f.Close` is not checked (errcheck)\n\tdefer f.Close()"


class TestTheClass:
    @pytest.mark.parametrize(
        ("call", "expected"),
        [
            (bash("mise run lint", LINT), "lint"),
            (bash("ruff check .", "a/b.py:1:8: F401 `os` imported but unused"), "lint"),
            (bash("go build ./...", "a/b.go:3:5: undefined: Foo"), "compile"),
            (bash("go test ./... | tail -5", "--- FAIL: TestA (0.00s)"), "compile"),
            (bash("python x.py", "ModuleNotFoundError: No module named 'yaml'"), "shell"),
            (bash("python -c 'a b'", "SyntaxError: invalid syntax"), "shell"),
            (bash("go test --foo", "unknown flag: --foo\nusage: go test"), "shell"),
            (tool("Read", "File does not exist.", True, file_path="/home/ana/app/a.go"), "path"),
            (tool("Edit", "<tool_use_error>File has not been read yet", True, file_path="a"), "etiquette"),
            (tool("mcp__db__query", "Error: no such column", True, sql="select x"), "tool"),
        ],
    )  # fmt: skip
    def test_it_is_told_by_the_result(self, call, expected):
        assert read(call).kind == expected

    def test_the_text_decides_where_a_pipe_hides_the_exit_code(self):
        call = bash("make lint 2>&1 | tail -3", "ERROR task failed", status="success")

        assert read(call) is not None

    def test_checkers_of_types_are_compilers(self):
        report = "a/b.py:3: error: Incompatible types in assignment  [assignment]"

        assert read(bash("mypy .", report)).kind == "compile"

    def test_linters_that_count_their_issues_failed_behind_a_pipe(self):
        report = "a/b.py:1:8: F401 `os` imported but unused\nFound 1 error."

        assert read(bash("ruff check . | tail -4", report, status="success"))

    def test_a_text_that_is_read_is_no_failure(self):
        assert read(bash("cat build.log", "All steps:\nfatal: the build broke")) is None

    @pytest.mark.parametrize("failed", [True, False])
    @pytest.mark.parametrize(
        "words",
        [
            "The user doesn't want to proceed with this tool use.",
            "Permission to use Bash with command rm has been denied.",
            "exec command rejected by user",
            "aborted by user after 3.2s",
            "[Operation Cancelled] Reason: User did not allow tool call",
            "Error: Tool call cancelled by user.",
            "User rejected the command",
        ],
    )
    def test_a_refused_call_neither_worked_nor_failed(self, words, failed):
        for call in (bash("rm -r build", words, failed), tool("drop", words, failed)):
            assert read(call).kind == "refused"
            assert read(call).signatures == ()

    @pytest.mark.parametrize(
        "call",
        [
            bash("go build", "a/b.go:3:5: undefined: Foo"),
            tool("Edit", "<tool_use_error>File has not been read yet", True),
        ],
    )
    def test_of_code_and_of_the_harness_nothing_is_named(self, call):
        assert read(call).signatures == ()


class TestTheLine:
    def test_it_is_the_last_exception_and_never_the_banner(self):
        text = (
            "Traceback (most recent call last):\n"
            '  File "/srv/app/run.py", line 3, in <module>\n    import yaml\n'
            "ModuleNotFoundError: No module named 'yaml'"
        )

        assert masked(bash("python run.py", text)) == [
            "shell python run.py: ModuleNotFoundError: No module named <q>"
        ]

    def test_a_warning_and_the_runner_of_tasks_are_passed_over(self):
        text = (
            "warning: config is deprecated\nunknown flag: --fast\n"
            "usage: tool [flags]\nmake: *** [lint] Error 2"
        )

        assert masked(bash("tool --fast", text)) == ["shell tool: unknown flag: --fast"]

    def test_a_line_of_earlier_successes_is_no_error(self):
        text = "error: cannot load the cache of 12 files\ncould not reach the registry"
        banner = "error: cannot load the cache of <n> files"

        assert masked(bash("tool run", text, failed=True), {banner}) == [
            "shell tool: could not reach the registry"
        ]

    def test_what_was_not_found_is_an_error_however_often_it_was_seen(self):
        text = "deploy: command not found"

        assert masked(bash("deploy", text), {text}) == [f"shell deploy: {text}"]


class TestTheName:
    def test_quotes_paths_ids_and_numbers_do_not_count_and_flags_do(self):
        one = bash("git push -x", "error: src/a.py line 3: cannot open 'a' after 31s")
        other = bash("git push -x", "error: lib/b.py line 9: cannot open 'b' after 2s")
        third = bash("git push", "error: unknown option --fast")

        assert masked(one) == masked(other)
        assert "--fast" in masked(third)[0]

    def test_the_program_stands_behind_cd_variables_and_wrappers(self):
        call = bash(
            "cd app && CI=1 timeout 60 npx eslint-x --fix", "unknown option --fix"
        )

        assert masked(call)[0].startswith("shell eslint-x:")

    def test_a_linter_names_each_rule_with_its_message(self):
        report = f"{LINT}\na/c.go:9:1: Error return value of `g.Flush` is not checked (errcheck)"

        assert masked(bash("golangci-lint run", report)) == [
            "lint errcheck: Error return value of <q> is not checked"
        ]

    def test_a_folder_that_is_there_already_is_another_failure_than_one_that_is_not(
        self,
    ):
        error = "cd: no such file or directory: app"
        inside = bash("cd app && ls", error, True, cwd="/home/ana/app")
        outside = bash("cd app && ls", error, True, cwd="/home/ana")

        assert masked(inside) == ["shell cd: in the folder already app"]
        assert masked(outside) == ["shell cd: no such folder app"]

    def test_a_missing_program_is_a_fact_of_one_machine(self):
        (signature,) = read(bash("jq .", "bash: jq: command not found")).signatures

        assert signature.is_of_machine

    @pytest.mark.parametrize(
        ("error", "is_telling"),
        [
            ("KeyError: 'SMTP_HOST'", True),
            ("KeyError: no such port", True),
            ("unknown flag: --fast", True),
            ("cat: /srv/app/a.txt: No such file or directory", False),
            ("cd: no such file or directory: app", False),
            ("Downloading layer 3 of 12", False),
        ],
    )
    def test_a_missing_path_or_a_line_of_progress_tells_nothing(
        self, error, is_telling
    ):
        (signature,) = read(bash("deploy x", error, failed=True)).signatures

        assert signature.is_telling is is_telling

    @pytest.mark.parametrize(
        ("cwd", "machine"),
        [
            ("/home/ana/app/src", "/home/ana"),
            ("/Users/bo/x", "/Users/bo"),
            ("C:\\Users\\cy\\x", "C:\\Users\\cy"),
            ("/srv/app", ""),
            ("", ""),
        ],
    )
    def test_a_home_folder_stands_for_the_machine(self, cwd, machine):
        assert failed_call.machine_of(cwd) == machine


@pytest.mark.parametrize(
    ("command", "is_own"),
    [
        ("make build", True),
        ("cd app && make build 2>&1 | tail -5", True),
        ("tail -n 40 ci.log", False),
        ("make build; cat ci.log", False),
        ("gh run view 7 --log-failed", False),
        ("kubectl logs deploy/api", False),
        ("curl -s https://ci.example/7", False),
        ("git show HEAD", False),
        ("echo unknown flag: --fast", False),
    ],
)
def test_a_command_that_shows_a_log_or_a_page_does_not_speak_for_itself(
    command, is_own
):
    assert commands.speaks_for_itself(command) is is_own
