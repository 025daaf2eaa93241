"""Tell which files and folders a task looked for, and whether they were there."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import Any

from ace.rules.files import checkout
from ace.rules.task import Task, ToolCall
from ace.rules.tool_calls import shell_commands

MAX_LOOKUPS = 60  # of one task
MAX_RESULT = 2_000  # characters in which a tool says that something is missing


class LookupOutcome(StrEnum):
    """Whether a path was there. In a folder that is there, a search may find nothing."""

    FOUND = "found"
    EMPTY = "empty"
    MISSING = "missing"


_ARGUMENTS = ("file_path", "path", "notebook_path", "filename", "file", "dir", "directory", "target_directory", "relative_workspace_path")  # fmt: skip
_PATTERNS = ("pattern", "glob", "glob_pattern", "include")
_MISSING = re.compile(
    r"does not exist|doesn't exist|no such file|not a directory|ENOENT|cannot find the path"
    r"|cannot access|path not found|file not found|directory not found",
    re.IGNORECASE,
)
_EMPTY = re.compile(r"\s{0,20}(?:no (?:files|matches|results)(?: were)? found|found 0\b|0 (?:files|matches|results)\b|no matches\b|\(no output\)|$)", re.IGNORECASE)  # fmt: skip
_WILDCARD = re.compile(r"[*?\[{]")
_LOOKERS = frozenset({"ls", "cat", "head", "tail", "less", "cd", "find", "tree", "stat", "wc", "sed", "bat"})  # fmt: skip
_RANK = {LookupOutcome.FOUND: 2, LookupOutcome.MISSING: 1, LookupOutcome.EMPTY: 0}


def find(task: Task) -> dict[str, LookupOutcome]:
    """Return {relative path: outcome}; a path that was there once in the task is found."""
    roots = checkout.find_roots(task)
    found: dict[str, LookupOutcome] = {}
    for call in task.calls:
        for path, outcome in _of_call(call):
            name = checkout.relative(path, roots).rstrip("/")
            if not checkout.is_inside(name) or "/" not in name:
                continue
            known = found.get(name)
            if known is None or _RANK[outcome] > _RANK[known]:
                found[name] = outcome
    return dict(list(found.items())[:MAX_LOOKUPS])


def _of_call(call: ToolCall) -> Iterator[tuple[str, LookupOutcome]]:
    if call.command:
        yield from _of_command(call)
        return
    if call.kind not in ("read", "search", "modify"):
        return
    outcome = _outcome(call)
    path = _first(call.arguments, _ARGUMENTS)
    if path and not _WILDCARD.search(path):
        yield path, outcome
        return
    pattern = path or _first(call.arguments, _PATTERNS)
    folder = _WILDCARD.split(pattern, maxsplit=1)[0].rpartition("/")[0]
    if folder:
        is_any = _WILDCARD.split(pattern, maxsplit=1)[0].endswith("/")
        # A pattern that takes every file, and none came: the folder is not there.
        is_missing = outcome is LookupOutcome.EMPTY and is_any and "*" in pattern
        yield folder, LookupOutcome.MISSING if is_missing else outcome


def _outcome(call: ToolCall) -> LookupOutcome:
    head = call.result[:MAX_RESULT]
    if _EMPTY.match(head):
        return LookupOutcome.EMPTY
    is_short = len(call.result) < MAX_RESULT
    if (
        (call.has_failed or call.kind == "search")
        and is_short
        and _MISSING.search(head)
    ):
        return LookupOutcome.MISSING
    return LookupOutcome.EMPTY if call.has_failed else LookupOutcome.FOUND


def _of_command(call: ToolCall) -> Iterator[tuple[str, LookupOutcome]]:
    parsed = shell_commands.parse(call.command)
    for simple in parsed:
        if simple.program not in _LOOKERS:
            continue
        for word in simple.operands:
            if "/" not in word or _WILDCARD.search(word):
                continue
            if _is_missing(word, call.result):
                yield word, LookupOutcome.MISSING
            elif not call.has_failed and call.result.strip():
                yield word, LookupOutcome.FOUND


def _is_missing(word: str, result: str) -> bool:
    lines = (line for line in result[:MAX_RESULT].splitlines() if word in line)
    return any(_MISSING.search(line) for line in lines)


def _first(arguments: dict[str, Any], names: Sequence[str]) -> str:
    values = (arguments[name] for name in names if isinstance(arguments.get(name), str))
    return next((value for value in values if value), "")
