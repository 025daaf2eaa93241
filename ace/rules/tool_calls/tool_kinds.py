"""Classify tools by their names and arguments: read, create, modify, run, …"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Literal, cast

from ace.rules import word_tables
from ace.rules.tool_calls import command_purpose, shell_commands

Kind = Literal[
    "read", "create", "modify", "delete", "move", "search", "run", "think", "other"
]

# If a name has words of several kinds, the first kind in the table wins:
# `search_replace` modifies, `list_files` searches.
_WORDS = cast("dict[Kind, frozenset[str]]", word_tables.read_groups("tool_kinds"))

# Some editors name the operation in the argument `command`.
_EDITOR_COMMANDS: dict[str, Kind] = {
    "view": "read",
    "create": "create",
    "str_replace": "modify",
    "insert": "modify",
    "undo_edit": "modify",
}

_SWE_KINDS: dict[str, Kind] = {
    "open": "read",
    "goto": "read",
    "scroll_up": "read",
    "scroll_down": "read",
    "create": "create",
    "edit": "modify",
    "insert": "modify",
    "str_replace": "modify",
    "find_file": "search",
    "search_file": "search",
    "search_dir": "search",
}

_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_SPLIT = re.compile(r"[^A-Za-z0-9]+")
_FILE_WORDS = frozenset(
    {"path", "paths", "file", "files", "filename", "filepath", "pattern", "glob"}
)
_CHECK_WORDS = frozenset({"test", "tests", "pytest", "lint", "build", "typecheck"})


def split_name(name: str) -> tuple[str, ...]:
    """Split the name of a tool or argument: `mcp__fs__readFile` becomes mcp, fs, read, file."""
    return _split(name[:120])


@lru_cache(maxsize=1_024)  # a task repeats its few names for every call
def _split(name: str) -> tuple[str, ...]:
    spaced = _CAMEL.sub(" ", name)
    return tuple(word.lower() for word in _SPLIT.split(spaced) if word)


def command_of(arguments: Mapping[str, Any]) -> str:
    """Return the shell command in the arguments, or an empty string."""
    for key in ("command", "cmd", "script", "code", "input", "action"):
        value = arguments.get(key)
        if isinstance(value, str):
            return value
        if isinstance(value, list) and all(isinstance(item, str) for item in value):
            return shell_commands.join(value)
    return ""


def kind_of(name: str, arguments: Mapping[str, Any]) -> Kind:
    """Return the kind of a call. The success of the call does not matter."""
    by_command = _EDITOR_COMMANDS.get(str(arguments.get("command")))
    if by_command and "path" in arguments:
        return by_command
    by_name = _kind_by_name(name)
    if by_name == "run":
        return _kind_of_run(command_of(arguments))
    return by_name


def is_check(name: str, arguments: Mapping[str, Any]) -> bool:
    """Return whether the call tests, lints, type-checks or builds."""
    if _CHECK_WORDS.intersection(split_name(name)):
        return True
    return is_shell(name, arguments) and command_purpose.is_check(command_of(arguments))


def is_file_tool(name: str, arguments: Mapping[str, Any]) -> bool:
    """Return whether the tool reads, finds or edits files, as the tools of a harness do."""
    if name.lower() in _SWE_KINDS:
        return True
    words = {word for key in arguments for word in split_name(key)}
    return bool(words & _FILE_WORDS) and _kind_by_name(name) != "other"


def is_shell(name: str, arguments: Mapping[str, Any]) -> bool:
    """Return whether the call ran a shell command. `run_sql` with a query ran none."""
    return _kind_by_name(name) == "run" and bool(command_of(arguments))


def _kind_by_name(name: str) -> Kind:
    if name.lower() in _SWE_KINDS:
        return _SWE_KINDS[name.lower()]
    found = set(split_name(name))
    return next((kind for kind, verbs in _WORDS.items() if verbs & found), "other")


def _kind_of_run(text: str) -> Kind:
    program = text.split(None, 1)[0] if text.strip() else ""
    if program in _SWE_KINDS:
        return _SWE_KINDS[program]
    return "read" if command_purpose.only_reads(text) else "run"
