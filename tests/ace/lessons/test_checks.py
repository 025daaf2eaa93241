"""Checks of a project that found what others missed."""

from __future__ import annotations

import pytest

from tests.ace.lessons.teach import teach

EDIT = ("Edit", {"file_path": "a.rb", "old_string": "x", "new_string": "y"}, "ok")


def bash(command, result, *, failed=False):
    return ("Bash", {"command": command}, result, failed)


def contents(*calls):
    usage = [
        {"tool_name": name, "arguments": arguments, "result": result, "is_error": any(more)}
        for name, arguments, result, *more in calls
    ]  # fmt: skip
    found = teach(tool_usage=usage)
    assert all(lesson.applies_to == ("always",) for lesson in found)
    return [lesson.content for lesson in found]


def test_a_check_that_failed_until_the_change_was_right():
    found = contents(
        bash("make lint", "$ rubocop --parallel\n3 offenses detected", failed=True),
        EDIT,
        bash("cd /r && make lint", "$ rubocop --parallel\nno offenses detected"),
    )

    assert found == [
        "Before finishing a change, run `make lint` (it runs `rubocop --parallel`): "
        "it has found errors that had to be fixed."
    ]


def test_a_flag_that_nobody_guesses():
    (found,) = contents(
        bash("go test -tags=db ./store/ -run TestA", "--- FAIL: TestA", failed=True),
        EDIT,
        bash("go test -tags=db ./store/", "ok  \tstore\t0.1s"),
    )

    assert "run `go test -tags=db`" in found


@pytest.mark.parametrize(
    "calls",
    [
        # The standard command of a language is known to every agent.
        [bash("pytest", "1 failed", failed=True), EDIT, bash("pytest", "1 passed")],
        # Nothing was changed in between.
        [bash("make e2e", "1 failed", failed=True), bash("make e2e", "1 passed")],
        # The check of another thing.
        [bash("make lint", "bad", failed=True), EDIT, bash("make test", "1 passed")],
        # Nobody knows which of the two failed.
        [bash("make lint && make test", "bad", failed=True), EDIT, bash("make test", "1 passed")],
        [bash("make lint && make test", "bad", failed=True), EDIT, bash("make lint", "0 offenses")],
        [bash("make lint; pip install acme", "bad", failed=True), EDIT, bash("make lint; pip install acme", "ok")],
        # A part of the tests.
        [bash("gradle test --tests=a.B", "1 failed", failed=True), EDIT, bash("gradle test --tests=a.B", "ok")],
        # Every agent tests.
        [bash("mise run test", "1 failed", failed=True), EDIT, bash("mise run test", "1 passed")],
        # A task of the runner that checks nothing.
        [bash("make deploy", "bad", failed=True), EDIT, bash("make deploy", "done")],
    ],
)  # fmt: skip
def test_other_commands_teach_nothing(calls):
    assert contents(*calls) == []
