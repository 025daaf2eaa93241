"""Read one tool call: what kind of tool it is, whether it failed, whether it was refused."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, Literal, cast

from ace.task import runner_reports, shell, word_tables

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
            return shell.join(value)
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
    return is_shell(name, arguments) and shell.is_check(command_of(arguments))


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
    return "read" if shell.only_reads(text) else "run"


# A call with more leaves is a document, not a set of arguments.
MAX_LEAVES = 200


def leaves(value: Any) -> dict[str, Any]:
    """Return a dict from dotted path to scalar. An empty list or object is a leaf too."""
    return dict(_take(_leaves(value, ""), MAX_LEAVES))


def _leaves(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping) and value:
        for key in value:
            yield from _leaves(value[key], f"{path}.{key}" if path else str(key))
    elif isinstance(value, list) and value:
        for index, item in enumerate(value):
            yield from _leaves(item, f"{path}.{index}")
    else:
        yield path, value


def _take(pairs: Iterator[tuple[str, Any]], limit: int) -> Iterator[tuple[str, Any]]:
    for _, pair in zip(range(limit), pairs, strict=False):
        yield pair


# What a harness puts before its words.
_OPENING = r"\s{0,20}(?:<tool_use_error>|<error>|Error: |\{\"error\": ?\"){0,2}"


def _refusal_pattern(words: str) -> str:
    """Return the pattern of a line of the table; `…` is any text in one line."""
    return r"[^\n]{1,400}".join(map(re.escape, words.split("…")))


# The words of Claude Code, Codex, Gemini CLI, Cursor and opencode.
_REFUSAL = re.compile(
    rf"{_OPENING}(?:{'|'.join(map(_refusal_pattern, sorted(word_tables.read('refusals'))))})"
)


def is_refusal(result: str) -> bool:
    """Return whether the result says that a person refused the call, or interrupted it."""
    return bool(_REFUSAL.match(result))


# In characters. A report has its verdict at its beginning or at its end.
HEAD = 2_000
TAIL = 20_000

_FLAGS_OF_FAILURE = ("is_error", "isError", "failed")
_FLAGS_OF_SUCCESS = ("success", "ok", "succeeded")
_CODES = ("exit_code", "exitCode", "returncode", "return_code", "exit_status")
_BAD_STATUS = frozenset({"error", "failed", "failure", "timeout", "cancelled"})
_GOOD_STATUS = frozenset({"success", "ok", "completed", "succeeded", "passed"})

# For every tool, this pattern is matched at the very beginning of the result.
_HEAD = re.compile(
    r"\s{0,20}(?:<tool_use_error>|<error>|(?:fatal|(?:[A-Za-z]{1,20} )?error|failed"
    r"|failure|exception|invalid\w{0,20})\b[ ]{0,2}(?:\[[^\]\n]{0,40}\])?:"
    r"|(?:[A-Za-z_]\w{0,60}\.){0,6}[A-Z]\w{0,60}(?:Error|Exception)\b:?"
    r"|(?-i:(?:[A-Za-z_]\w{0,60}\.){1,6}[A-Z]\w{1,60}: )|npm ERR!"
    r"|[^\s:()][^\n:()]{0,200}[:(]\d{1,7}[,:]\d{1,5}\)?: (?:fatal )?error\b"
    r"|Traceback \(most recent call last\)|HTTP[/ ](?:\d\.\d )?[45]\d\d\b"
    r"|EXECUTION TIMED OUT|Your proposed edit has introduced|Wrong (?:flag|answer)"
    r"|String to replace not found|No replacement was performed"
    r"|Found \d{1,6} matches of the string|File (?:does not exist|has not been read)"
    r"|No such file|Permission denied|Access denied|Failed to |Cannot |Could not "
    r"|Unable to |Unknown (?:tool|argument|parameter|option|field|flag|command|shorthand)|Missing required"
    r"|Invalid |Not found\b|Unauthori[sz]ed|Forbidden|Timed out|Command failed"
    r"|Command timed out|Request failed|E\d{3} |(?:zsh|bash|sh|fish|\(eval\)):[ \d]"
    r"|(?:[\w./-]{1,40}: ){1,3}(?:line \d{1,6}: )?[^\n:]{0,200}(?:: )?"
    r"(?:command not found|No such file or directory|Permission denied|Is a directory)"
    r"[ \t]{0,4}(?:\n|$))",
    re.IGNORECASE,
)
# For tools that run something, this pattern is matched at the start of every line.
_LINE = re.compile(
    r"^(?:E[ \t]{1,8})?(?:Traceback \(most recent call last\)"
    r"|(?:[A-Za-z_]\w{0,60}\.){0,6}[A-Z]\w{0,60}(?:Error|Exception)(?::|$)"
    r"|(?:[a-z_]\w{0,60}\.){1,6}[A-Z][a-z]\w{1,60}: "
    r"|fatal: |error(?:\[\w{1,10}\])?: |ERROR: |panic: |thread '[^'\n]{1,60}' panicked"
    r"|npm ERR!|make: \*\*\*|FAILED\b|--- FAIL|FAIL[ \t]"
    r"|EXECUTION TIMED OUT|Segmentation fault|Killed$"
    r"|[^\n]{1,200}: (?:command not found|No such file or directory|Permission denied"
    r"|not found)$"
    r"|[^\s:()][^\n:()]{0,200}[:(]\d{1,7}[,:]\d{1,5}\)?: (?:fatal )?error\b"
    r"|[^\s:][^\n:]{0,200}:\d{1,7}: (?:fatal )?error: "
    # What a compiler or a linter says about a place, unless it only warns.
    r"|[\w./@+-]{1,200}\.\w{1,8}:\d{1,7}:\d{1,5}: (?!(?i:warning|note|info))\S)",
    re.MULTILINE,
)
# The last word of a task runner about the task that it ran.
_VERDICT = re.compile(
    r"^(?:(?:\[[\w:.-]{1,40}\] )?ERROR task failed|make(?:\[\d\])?: \*\*\*|npm ERR!"
    r"|error: Recipe `[^`\n]{1,60}` failed|FAILURE: Build failed|BUILD FAILED"
    r"|[^\n]{1,80}: (?:command not found|No such file or directory)$"
    r"|[^\s:()][^\n:()]{0,200}\.\w{1,8}:\d{1,7}:\d{1,5}: [^\n]{4,300} \([a-z][\w-]{2,30}\)$)",
    re.MULTILINE,
)
_EXIT = re.compile(
    r"\b(?:exit(?:ed with)?(?: code| status)|exit_code|return ?code)\b"
    r"[\"']?[ :=]{0,4}(?:is )?(?P<code>-?\d{1,3})\b",
    re.IGNORECASE,
)


def has_failed(
    name: str, arguments: Mapping[str, Any], result: str, step: Mapping[str, Any]
) -> bool | None:
    """Return whether the call failed, or None if nothing shows it.

    A call that a person refused has not worked, whatever its flags say. Of other calls, the
    flags of the step decide first, then an error object in the result, then test counts,
    then the words that report a failure. A flag of success says little about a pipe:
    `make test | tail` ends with the status of `tail`.
    """
    if is_refusal(result):
        return True
    failed = _read_flags(step)
    if failed is False and _hides_failure(name, arguments, result):
        return True
    if failed is None:
        failed = _read_error_object(result)
    if failed is not None:
        return failed
    kind = kind_of(name, arguments)
    if kind == "think":
        return None
    return _read_text(result, is_run=kind == "run")


def is_stated(step: Mapping[str, Any]) -> bool:
    """Return whether the step itself says how the call ended."""
    return _read_flags(step) is not None


def _hides_failure(name: str, arguments: Mapping[str, Any], result: str) -> bool:
    """Return whether a runner or the shell says that a command with a pipe failed."""
    if "|" not in command_of(arguments):
        return False
    if kind_of(name, arguments) != "run":
        return False
    edges = result if len(result) <= HEAD + TAIL else result[:HEAD] + result[-TAIL:]
    tests = runner_reports.count_tests(edges)
    if tests is not None and tests.failed:
        return True
    return bool(_HEAD.match(result[:HEAD]) or _VERDICT.search(edges))


def _read_flags(step: Mapping[str, Any]) -> bool | None:
    for key in _FLAGS_OF_FAILURE:
        if isinstance(step.get(key), bool):
            return bool(step[key])
    for key in _FLAGS_OF_SUCCESS:
        if isinstance(step.get(key), bool):
            return not step[key]
    for key in _CODES:
        if isinstance(step.get(key), int):
            return bool(step[key])
    status = str(step.get("status") or "").lower()
    if status in _BAD_STATUS | _GOOD_STATUS:
        return status in _BAD_STATUS
    return None


def _read_error_object(result: str) -> bool | None:
    text = result.strip()
    if not text.startswith("{") or len(text) > TAIL:
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return _read_object_flags(value) if isinstance(value, dict) else None


def _read_object_flags(value: Mapping[str, Any]) -> bool | None:
    for key in ("error", "errors", "error_message"):
        if value.get(key):
            return True
    return _read_flags({key: value[key] for key in value if key != "status"}) or (
        True if str(value.get("status")).lower() in {"error", "failed"} else None
    )


def _read_text(result: str, *, is_run: bool) -> bool | None:
    if not result.strip():
        return None
    if _HEAD.match(result[:HEAD]):
        return True
    if not is_run:
        return False
    edges = result if len(result) <= HEAD + TAIL else result[:HEAD] + result[-TAIL:]
    tests = runner_reports.count_tests(edges)
    if tests is not None:
        return tests.failed > 0
    codes = [int(match["code"]) for match in _EXIT.finditer(edges)]
    if codes:
        return codes[-1] != 0
    return bool(_LINE.search(edges))
