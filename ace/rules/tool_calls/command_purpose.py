"""Distinguish shell commands that check or read from commands that change something."""

from __future__ import annotations

import re

from ace.rules.tool_calls import programs, shell_commands
from ace.rules.tool_calls.shell_commands import SimpleCommand

_CHECK = re.compile(
    r"\b(?:pytest|tox|nox|unittest|jest|vitest|mocha|rspec|phpunit|ctest|ruff|flake8"
    r"|mypy|pyright|pylint|eslint|tsc|shellcheck|clippy|rubocop|golangci-lint"
    r"|(?:go|cargo|dotnet|swift|bazel|mvn|gradle|gradlew|sbt|mix|stack)"
    r"[ ]{1,3}(?:test|check|build|vet|verify|compile)"
    r"|(?:npm|yarn|pnpm|bun|make|just|rake|deno)[ ]{1,3}(?:run[ ]{1,3})?"
    r"(?:test|check|lint|build|typecheck|verify|ci)\w{0,20}"
    r"|manage\.py[ ]{1,3}(?:test|check))\b"
)

_RUNNER_TASK = re.compile(
    r"(?:mise run|mise r|make|just|task|rake|invoke|poe|hatch run|tox -e|nox -s|deno task"
    r"|composer|(?:npm|yarn|pnpm|bun)(?: run)?|\./gradlew|mix|cargo make|cargo xtask) "
    r"(?P<task>[A-Za-z][\w:.-]{1,40})(?= |$)"
)
_CHECK_TASK = re.compile(
    r"(?:^|[:._-])(?:test|lint|check|fmt|format|typecheck|types?|verify|ci|build|e2e"
    r"|integration|vet|pre-?commit)(?:$|[:._-])",
    re.IGNORECASE,
)
# Every agent tests and builds before it finishes.
_PLAIN_TASKS = frozenset({"test", "tests", "build"})
# A flag with a value that widens a check or chooses its kind. Others may narrow it.
_GIVEN_FLAG = re.compile(
    r"[a-z][\w.-]{1,30}(?: [a-z][\w-]{1,20}){0,2} "
    r"--?(?:tags|features|config|profile|settings|env|mode|all[\w-]{0,20})=[\w./,-]{1,40}(?= |$)"
)


def is_check(text: str) -> bool:
    """Return whether the command tests, lints, type-checks or builds."""
    return bool(_CHECK.search(text[: shell_commands.MAX_COMMAND]))


def only_reads(text: str) -> bool:
    """Return whether every program only reads. The output is then content, not a report."""
    parsed = shell_commands.parse(text)
    return bool(parsed) and all(_only_reads(simple) for simple in parsed)


def project_check(text: str) -> str:
    """Return the one check in a command that the project itself defines, or "".

    It is the task of a runner (`make lint`, `npm run test:e2e`) or a test program with a flag
    that nobody guesses (`go test -tags=integration`). A command with several checks, or with
    other programs than such that only read, does not say which one failed.
    """
    found = []
    for simple in shell_commands.parse(text):
        if check := _project_check(simple):
            found.append(check)
        elif not _only_reads(simple):
            return ""
    is_plain = found and found[0].rpartition(" ")[2] in _PLAIN_TASKS
    return found[0] if len(found) == 1 and not is_plain else ""


def _project_check(simple: SimpleCommand) -> str:
    words = " ".join(simple.words)
    task = _RUNNER_TASK.match(words)
    if task and _CHECK_TASK.search(task["task"]):
        return task[0]
    if is_check(words) and (flag := _GIVEN_FLAG.match(words)):
        return flag[0]
    return ""


def targets(text: str) -> frozenset[str]:
    """Return the operands that narrow a check, such as `tests/test_login.py`."""
    words = [word for simple in shell_commands.parse(text) for word in simple.operands]
    return frozenset(word for word in words if "/" in word or "." in word)


def _only_reads(simple: SimpleCommand) -> bool:
    if simple.writes or simple.appends:
        return False
    program = simple.program
    if program == "git":
        return bool(programs.GIT_READS.intersection(simple.words[1:3]))
    if program == "sed":
        return not edits_in_place(simple)
    return program in programs.READERS | programs.SEARCHERS | programs.NEUTRAL


def edits_in_place(simple: SimpleCommand) -> bool:
    flags = programs.IN_PLACE.get(simple.program, ())
    return any(
        word in flags or (word.startswith("-i") and "-i" in flags)
        for word in simple.words[1:]
    )
