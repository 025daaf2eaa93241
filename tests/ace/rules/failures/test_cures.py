"""What then worked: commands, edits, paths and arguments, and what is no cure."""

from __future__ import annotations

import time

from ace.rules import task as tasks
from ace.rules.failures import cures, lint_issues
from tests.ace.rules.failures.calls import bash, edit, find, tool

REPORT = (
    "store/a.go:3:5: Error return value of `f.Close` is not checked (errcheck)\n"
    "\tdefer f.Close()"
)


class TestCommands:
    def test_the_change_is_what_is_kept(self):
        (repair,) = find(
            bash(
                "cd app && go test -tag=it ./a", "flag provided but not defined: -tag"
            ),
            bash("cd app && go test -tags=it ./a", "ok"),
        )

        assert (repair.removed, repair.added) == (("-tag=it",), ("-tags=it",))
        assert repair.cure == "--tag=it +-tags=it"
        assert repair.is_sayable

    def test_of_the_next_commands_the_most_similar_one_cures(self):
        (repair,) = find(
            bash("git push --frce origin dev", "error: unknown option `frce'"),
            bash("git status", "clean"),
            bash("git push --force-with-lease origin dev", "done"),
        )

        assert repair.worked.startswith("git push")

    def test_another_program_with_the_same_arguments_is_the_same_program(self):
        (repair,) = find(
            bash("python -m build --wheel", "bash: python: command not found"),
            bash("python3 -m build --wheel", "Successfully built"),
        )

        assert (repair.removed, repair.added) == (("python",), ("python3",))

    def test_a_probe_is_no_cure(self):
        assert not find(
            bash("tool deploy --to dev", "error: unknown option --to"),
            bash("tool --version", "1.2"),
            bash("which tool", "/usr/bin/tool"),
        )

    def test_a_command_that_fails_otherwise_is_no_cure_but_failing_tests_are(self):
        failing = bash("go test -x ./a", "unknown flag: -x")

        assert not find(
            failing, bash("go test -y ./a", "fatal: no module", failed=True)
        )
        assert find(failing, bash("go test ./a", "--- FAIL: TestA (0.00s)"))

    def test_the_same_command_again_has_no_words(self):
        (repair,) = find(
            bash("git fetch", "fatal: unable to access the host"),
            bash("git fetch", "done"),
        )

        assert (repair.cure, repair.is_sayable) == ("", False)

    def test_a_swapped_operand_is_kept_and_never_said(self):
        (repair,) = find(
            bash("go test alpha", "cannot find package"), bash("go test beta", "ok")
        )

        assert not repair.is_sayable

    def test_an_operand_that_the_error_names_may_be_said(self):
        (repair,) = find(
            bash("mise run lnt", "error: unknown task lnt"), bash("mise run lint", "ok")
        )

        assert repair.is_sayable

    def test_the_path_of_another_worktree_is_never_said(self):
        (repair,) = find(
            bash("make check", "make: no rule to make target", failed=True),
            bash("make -C /home/ana/other check", "ok"),
        )

        assert not repair.is_sayable

    def test_a_try_that_did_not_help_is_kept_as_one(self):
        tries = [
            bash("go vet -x", "unknown flag: -x"),
            bash("go vet -x -v", "unknown flag: -x"),
            bash("go vet", "ok"),
        ]

        (cured, tried, *_) = find(*tries)

        assert (cured.has_worked, tried.has_worked) == (True, False)
        assert tried.added == ("-v",)

    def test_a_command_that_a_person_refused_is_no_cure(self):
        assert not find(
            bash("deployctl push --env=prod", "unknown flag: --env"),
            bash("deployctl push --target=prod", "exec command rejected by user"),
        )

    def test_an_error_with_other_values_came_back(self):
        after = "curl: (28) Operation timed out after {} milliseconds with 0 bytes"
        (tried,) = find(
            bash(
                "curl https://a.example --max-time 5", after.format(5001), failed=True
            ),
            bash("curl https://a.example --http1.1", after.format(5003), failed=True),
        )

        assert not tried.has_worked
        assert "--http1.1" in tried.added

    def test_failing_tests_are_no_cure_while_the_error_still_stands(self):
        error = "error: unknown option '--brower=chrome'"
        (tried,) = find(
            bash("npm run e2e -- --brower=chrome", error, failed=True),
            bash(
                "npm run e2e -- --brower=chrome --retries=2; npm test",
                f"{error}\nFAIL src/a.test.ts",
                failed=True,
            ),
        )

        assert not tried.has_worked

    def test_a_later_command_is_out_of_the_window(self):
        others = [tool("Read", "text", file_path="a.go") for _ in range(8)]

        assert not find(
            bash("go vet -x", "unknown flag: -x"), *others, bash("go vet", "ok")
        )


class TestEdits:
    def test_the_edit_of_the_line_before_the_same_check_is_clean(self):
        (repair,) = find(
            bash("mise run lint 2>&1 | tail", REPORT),
            edit("/home/ana/app/other.go", "defer f.Close()", "f.Close()"),
            edit(
                "/home/ana/app/store/a.go",
                "f := open()\ndefer f.Close()",
                "f := open()\ndefer f.Close() //nolint:errcheck // read only",
            ),
            bash("mise run lint", "0 issues."),
        )

        assert repair.cure == "suppression"
        assert repair.failed == "defer f.Close()"
        assert repair.worked == "defer f.Close() //nolint:errcheck // read only"

    def test_without_a_clean_run_of_the_same_check_nothing_is_known(self):
        assert not find(
            bash("mise run lint", REPORT),
            edit("store/a.go", "defer f.Close()", "_ = f.Close()"),
            bash("mise run test", "ok"),
        )

    def test_a_check_that_a_person_refused_is_not_clean(self):
        assert not find(
            bash("mise run lint", REPORT),
            edit("store/a.go", "defer f.Close()", "_ = f.Close()"),
            bash("mise run lint", "exec command rejected by user"),
        )

    def test_each_issue_is_cured_once_it_is_gone(self):
        both = f"{REPORT}\nstore/b.go:9:1: missing comment (revive)\n\tfunc Open()"
        repairs = find(
            bash("mise run lint", both),
            edit("store/b.go", "func Open()", "// Open opens.\nfunc Open()"),
            bash("mise run lint", REPORT),
            edit("store/a.go", "defer f.Close()", "_ = f.Close()"),
            bash("mise run lint", "0 issues."),
        )

        assert [(each.failure.call.index, each.fixed_index) for each in repairs] == [
            (0, 4),
            (0, 2),
            (2, 4),
        ]

    def test_an_edit_elsewhere_in_the_file_is_no_cure(self):
        assert not find(
            bash("mise run lint", REPORT),
            edit("store/a.go", "return nil", "return err"),
            bash("mise run lint", "0 issues."),
        )

    def test_an_edit_that_only_deletes_has_no_words(self):
        (repair,) = find(
            bash("mise run lint", REPORT),
            edit("store/a.go", "f := open()\ndefer f.Close()", "f := open()"),
            bash("mise run lint", "0 issues."),
        )

        assert not repair.is_sayable


class TestPathsAndTools:
    def test_the_next_file_that_the_tool_found_relative_to_its_folder(self):
        (repair,) = find(
            tool(
                "Read", "File does not exist.", True, file_path="/home/ana/app/run.go"
            ),
            tool("Read", "package cmd", file_path="/home/ana/app/cmd/run.go"),
        )

        assert (repair.failed, repair.worked) == ("run.go", "cmd/run.go")
        assert repair.is_sayable

    def test_another_file_is_kept_and_never_said(self):
        (repair,) = find(
            tool(
                "Read", "File does not exist.", True, file_path="/home/ana/app/run.go"
            ),
            tool("Read", "package cmd", file_path="/home/ana/app/main.go"),
        )

        assert not repair.is_sayable

    def test_a_file_that_a_person_refused_is_not_found(self):
        assert not find(
            tool("Read", "File does not exist.", True, file_path="config/prod.env"),
            tool(
                "Read",
                "The user doesn't want to proceed with this tool use.",
                True,
                file_path="deploy/prod.env",
            ),
        )

    def test_a_call_that_a_person_refused_is_no_cure(self):
        refusal = "[Operation Cancelled] Reason: User did not allow tool call"

        assert not find(
            tool("query", "Error: unknown parameter limit", True, table="a", limit=5),
            tool("query", refusal, table="a", force=True),
        )

    def test_arguments_that_were_added(self):
        (repair,) = find(
            tool("mcp__db__query", "Error: database is required", True, sql="select 1"),
            tool("mcp__db__query", "1", sql="select 1", database="main"),
        )

        assert (repair.cure, repair.added) == ("+database", ("database",))


class TestAnyText:
    def test_each_report_of_a_linter_is_read_once(self, monkeypatch):
        issues = [f"a/b{n}.py:1:8: F{n:03} `os` imported but unused" for n in range(100, 140)]  # fmt: skip
        calls = [bash("ruff check .", "\n".join(issues)) for _ in range(12)]
        task = tasks.parse({"tool_usage": calls})
        read, reports = lint_issues.read, []
        monkeypatch.setattr(lint_issues, "read", lambda text: reports.append(text) or read(text))  # fmt: skip

        assert cures.find(task) == []
        # Once for its class, once for its signatures, and once for what is still reported.
        assert len(reports) <= 3 * len(calls)

    def test_hostile_text_costs_little(self):
        texts = ["/a" * 40_000, "'" * 80_000, "(" * 80_000, "a_" * 40_000, "error: " * 12_000]  # fmt: skip
        texts += ["a:1:1: " * 12_000, "\n".join(["a/b.c:1:1: x (y)"] * 5_000)]
        started = time.process_time()
        for text in texts:
            find(bash(f"go test {text}", text, failed=True), bash("go test", text))

        assert time.process_time() - started < 10
