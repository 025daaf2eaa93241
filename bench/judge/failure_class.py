"""Tell whether a call failed, and of which class the failure is."""

from __future__ import annotations

import re
from enum import StrEnum

from bench.judge import shell_command
from bench.judge.lint_issues import read_issues
from bench.judge.session_calls import SessionCall


class FailureClass(StrEnum):
    LINT = "lint"
    SHELL = "shell"
    TOOL = "tool"
    PATH = "path"
    COMPILE = "compile and test"
    ETIQUETTE = "etiquette"


# What a project's own failures are: not the code at hand, and not the harness.
OF_THE_PROJECT = (
    FailureClass.LINT,
    FailureClass.SHELL,
    FailureClass.TOOL,
    FailureClass.PATH,
)

_REJECTED = re.compile(
    r"\A(?:The user doesn't want to|\[Request interrupted|Permission to use .{0,500}denied"
    r"|User (?:rejected|denied)|exec command rejected)",
    re.DOTALL,
)
# The fixed texts with which a harness refuses a call.
_ETIQUETTE = re.compile(
    r"has not been read yet|String to replace not found|matches of the string to replace"
    r"|No changes to make|(?:modified|changed) since (?:it was )?(?:last )?read"
    r"|exceeds maximum allowed|InputValidationError|Sibling tool call errored|EISDIR"
    r"|posix_spawn|did not appear verbatim|Multiple occurrences of old_str"
    r"|apply_patch verification failed|Failed to find (?:expected lines|context)"
)
HARNESS_TEXT = 400  # characters in which the harness says what it refuses
_MISSING = re.compile(
    r"does not exist|no such file|not found|ENOENT|cannot find|Directory not found",
    re.I,
)

# `file.ext:3:5: message`, `src/a.ts(3,5): error`, `error[E0308]`: no warnings, no notes.
_COMPILE = re.compile(
    r"^(?:[\w./@-]+\.\w{1,5}:\d+:\d+:? (?!warning|note|info)\S"
    r"|[\w./@-]+\.\w{1,5}:\d+: error\b|[\w./@-]+\(\d+,\d+\): error"
    r"|error\[E\d+\]|error: could not compile|.*\[build failed\])",
    re.MULTILINE,
)
_TEST = re.compile(
    r"^[ \t]*--- FAIL|^FAIL\b|^FAILED\b|^[ \t]*not ok \d|^=+ .*\b[1-9]\d* (?:failed|errors?)\b"
    r"|^E   \S|\bTests:\s+[1-9]\d* failed|^[ \t]*[1-9]\d* failing\b|test result: FAILED"
    r"|\b[1-9]\d* failures?\b|^Failures:|BUILD FAILED|✗ FAIL|^AssertionError",
    re.MULTILINE,
)
_SYNTAX = re.compile(r"^[ \t]*SyntaxError:", re.MULTILINE)
# Failures of the machine or of the project's environment, although a program says them.
_ENVIRONMENT = re.compile(
    r"ModuleNotFoundError|No module named|Cannot find module|Cannot find package"
    r"|cannot load such file|command not found|no required module provides package"
    r"|updates to go\.mod needed",
)
# How programs complain about the way they were called, at the start of a line.
_COMPLAINT = re.compile(
    r"^.{0,60}?(?:unknown (?:shorthand )?flag|unknown (?:command|option)"
    r"|flag provided but not defined|unrecognized (?:option|argument)|invalid option"
    r"|illegal option|no such option|command not found|unexpected argument)",
    re.MULTILINE | re.IGNORECASE,
)
# How linters count the issues that they found.
_ISSUES = re.compile(
    r"^Found [1-9]\d* errors?\b|✖ [1-9]\d* problems? \([1-9]|\b[1-9]\d* offenses? detected"
    r"|^[1-9]\d* issues?:$",
    re.MULTILINE,
)
_TASK = re.compile(
    r"ERROR task failed|^npm (?:ERR!|error)|^make: \*\*\*|^error: script .* exited|ELIFECYCLE",
    re.MULTILINE,
)
_EXIT = re.compile(
    r"^(?:Process )?exit(?:ed)?(?: with)? (?:code|status):? [1-9]", re.I | re.M
)
# An exception after its traceback, or at the end of a text whose beginning was cut.
_EXCEPTION = re.compile(
    r"^Traceback \(most recent call last\)[\s\S]*^[\w.]+(?:Error|Exception)\b"
    r"|^[\w.]*(?:Error|Exception): .*\s*\Z",
    re.MULTILINE,
)
_FATAL = re.compile(r"^(?:fatal|error): |^Error: ", re.MULTILINE)
_INLINE_SCRIPT = re.compile(r"\s-[ce]\s|<<")
_LINTER = re.compile(
    r"\b(?:\w*lint\w*|ruff|flake8|clippy|rubocop|shellcheck|checkstyle|ktlint|biome)\b"
)


def is_rejected(call: SessionCall) -> bool:
    """Whether a person, or a rule of theirs, refused the call."""
    return bool(_REJECTED.match(call.result))


def classify(call: SessionCall) -> FailureClass | None:
    """Return the class of a call that failed; None for one that succeeded or was rejected.

    What a shell command printed decides too: `| tail` hides the exit code.
    """
    if is_rejected(call) or not (call.is_error or _says_failure(call)):
        return None
    if _is_of_harness(call):
        return FailureClass.ETIQUETTE
    if call.command:
        return _classify_command(call)
    is_path = call.path and _MISSING.search(call.result[:HARNESS_TEXT])
    return FailureClass.PATH if is_path else FailureClass.TOOL


def _says_failure(call: SessionCall) -> bool:
    if not call.command:
        return False
    if shell_command.is_only_reading(call.command):
        # What it reads may tell of failures; its own begins with the complaint.
        return bool(_COMPLAINT.match(call.result))
    marks = (
        *(_COMPILE, _TEST, _ISSUES),
        *(_COMPLAINT, _TASK, _EXIT, _EXCEPTION, _FATAL),
    )
    return any(mark.search(call.result) for mark in marks)


def _is_of_harness(call: SessionCall) -> bool:
    if call.command and not call.result.startswith("<tool_use_error>"):
        return False
    return bool(_ETIQUETTE.search(call.result[:HARNESS_TEXT]))


def _classify_command(call: SessionCall) -> FailureClass:
    text = call.result
    has_tests = bool(_TEST.search(text))
    if read_issues(text):
        return FailureClass.LINT
    if _ENVIRONMENT.search(text) and not has_tests:
        return FailureClass.SHELL
    if _SYNTAX.search(text) and _INLINE_SCRIPT.search(call.command):
        return FailureClass.SHELL
    if has_tests or _COMPILE.search(text):
        return FailureClass.COMPILE
    if _SYNTAX.search(text):
        return FailureClass.COMPILE
    is_lint = _LINTER.search(call.command) and _TASK.search(text)
    return FailureClass.LINT if is_lint else FailureClass.SHELL
