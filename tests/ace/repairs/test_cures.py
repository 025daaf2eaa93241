"""What then worked: commands, edits, paths and arguments, and what is no cure."""

from __future__ import annotations

import time

import pytest

from ace.repairs import cures, lint_issues
from ace.task import task as tasks
from tests.ace.repairs.calls import bash, edit, find, tool

REPORT = (
    "store/a.go:3:5: Error return value of `f.Close` is not checked (errcheck)\n"
    "\tdefer f.Close()"
)


class TestCommands:
    def test_both_commands_are_kept_whole(self):
        (repair,) = find(
            bash(
                "cd app && go test -tag=it ./a", "flag provided but not defined: -tag"
            ),
            bash("cd app && go test -tags=it ./a", "ok"),
        )

        assert repair.cure == "--tag=it +-tags=it"
        assert repair.failed == "cd app && go test -tag=it ./a"
        assert repair.worked == "cd app && go test -tags=it ./a"
        assert repair.is_sayable

    def test_another_command_of_the_same_program_is_no_cure(self):
        (repair,) = find(
            bash("git push --tgas origin dev", "error: unknown option `tgas'"),
            bash("git status", "clean"),
            bash("git push --tags origin dev", "done"),
        )

        assert repair.worked == "git push --tags origin dev"

    def test_another_version_is_the_same_program(self):
        (repair,) = find(
            bash("python -m build --wheel", "bash: python: command not found"),
            bash("python3 -m build --wheel", "Successfully built"),
        )

        assert repair.worked == "python3 -m build --wheel"

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

    @pytest.mark.parametrize(
        ("failed", "error", "later"),
        [
            ("git fetch", "fatal: unable to access the host", "git fetch"),
            ("go test alpha", "cannot find package", "go test beta"),
            ("git commit -m a", "fatal: cannot lock ref", "git commit -m b"),
            ("gh pr view 7 --jq .a", "error: HTTP 404", "gh pr view 8 --jq .b"),
            ("python -c 'import a'", "SyntaxError: bad", "python -c 'import b'"),
            ("git fsck", "error: object is missing", "git log --oneline"),
            ("cat a.md", "cat: a.md: No such file or directory", "cat docs/b.md"),
            ("git merge dev", "error: your changes would be lost", "git merge dev --ours"),
            ("git checkout dev", "error: your changes would be lost", "git checkout -- . && git checkout dev"),
            ("git push", "error: failed to push some refs", "git push --force"),
            ("mkdir build && cmake .", "error: the cache is of another folder", "rm -rf build && cmake ."),
            ("npm test", "Error: no network", "npm test || true"),
            ("git show --no-stat", "fatal: unrecognized argument: --no-stat", "git show -- a.go"),
            ("tool --fst", "error: unknown flag: --fst", "tool deploy"),
            ("go test ./a", "--- FAIL: TestA (0.00s)", "go test -v ./a"),
            ("pytest", "E   assert 1 == 2\n1 failed", "pytest -k other"),
        ],
    )  # fmt: skip
    def test_another_question_free_text_and_what_discards_is_no_cure(
        self, failed, error, later
    ):
        assert not find(bash(failed, error, failed=True), bash(later, "ok"))

    @pytest.mark.parametrize(
        ("failed", "error", "later"),
        [
            ("go run . list", "failed: could not open a new TTY", "go run . list --json"),
            ("golangci-lint run", "Error: can't load config: unsupported version", "mise exec -- golangci-lint run"),
            ("golangci-lint run", "Error: can't load config: unsupported version", "mise run lint"),
            ("docker-compose up", "bash: docker-compose: command not found", "docker compose up"),
            ("tool deploy --to dev", "error: unknown environment dev", "tool deploy --to staging"),
            ("grep -P a b.txt", "grep: invalid option -- P", "grep -E a b.txt"),
        ],
    )  # fmt: skip
    def test_a_flag_a_wrapper_and_what_the_error_names_are_cures(
        self, failed, error, later
    ):
        (repair,) = find(
            bash(failed, error, failed=True),
            bash(later, "[lint] $ golangci-lint run\nok"),
        )

        assert (repair.failed, repair.worked) == (failed, later)

    def test_the_call_that_the_error_asks_for_comes_first(self):
        (repair,) = find(
            bash("terraform plan", "Error: run: terraform init", failed=True),
            bash("terraform init", "Terraform has been initialized!"),
            bash("terraform plan", "Plan: 1 to add"),
        )

        assert repair.worked == "terraform init && terraform plan"

    def test_the_folder_that_a_client_states_is_part_of_the_command(self):
        (repair,) = find(
            bash("npm test", "npm ERR! enoent no such package.json", cwd="/srv/shop"),
            bash("npm test", "ok", cwd="/srv/shop/web"),
        )

        assert repair.worked == "cd web && npm test"

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
            bash("go vet -x -race", "unknown flag: -x"),
            bash("go vet", "ok"),
        ]

        (tried, cured, *_) = find(*tries)

        assert (cured.has_worked, tried.has_worked) == (True, False)
        assert tried.cure == "+-race"

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
        assert "--http" in tried.cure

    def test_failing_tests_are_no_cure_while_the_error_still_stands(self):
        error = "error: unknown option '--brower=chrome'"
        tried = find(
            bash("npm run e2e -- --brower=chrome", error, failed=True),
            bash(
                "npm run e2e -- --brower=chrome --retries=2; npm test",
                f"{error}\nFAIL src/a.test.ts",
                failed=True,
            ),
        )

        assert not any(each.has_worked for each in tried)

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

    @pytest.mark.parametrize(
        ("wanted", "found"),
        [
            (".golangci.yml", ".golangci.yaml"),
            ("logging/logging.go", "logging/logger.go"),
            ("run.go", "cmd/run.go"),
        ],
    )
    def test_a_file_of_a_like_name_needs_one_session(self, wanted, found):
        (repair,) = find(
            tool("Read", "File does not exist.", True, file_path=wanted),
            tool("Read", "text", file_path="README.md"),
            tool("Read", "text", file_path=found),
        )

        assert (repair.worked, repair.is_sure) == (found, True)

    def test_another_file_needs_two_sessions(self):
        (repair,) = find(
            tool(
                "Read", "File does not exist.", True, file_path="/home/ana/app/run.go"
            ),
            tool("Read", "package cmd", file_path="/home/ana/app/main.go"),
        )

        assert not repair.is_sure

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

        assert (repair.failed, repair.worked) == ("", "`database`")


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
