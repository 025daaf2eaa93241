"""Decide whether a tool call failed, from its own flags and its result."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from ace.rules.tool_calls import refusals, runner_reports, tool_kinds

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
    if refusals.is_refusal(result):
        return True
    failed = _read_flags(step)
    if failed is False and _hides_failure(name, arguments, result):
        return True
    if failed is None:
        failed = _read_error_object(result)
    if failed is not None:
        return failed
    kind = tool_kinds.kind_of(name, arguments)
    if kind == "think":
        return None
    return _read_text(result, is_run=kind == "run")


def is_stated(step: Mapping[str, Any]) -> bool:
    """Return whether the step itself says how the call ended."""
    return _read_flags(step) is not None


def _hides_failure(name: str, arguments: Mapping[str, Any], result: str) -> bool:
    """Return whether a runner or the shell says that a command with a pipe failed."""
    if "|" not in tool_kinds.command_of(arguments):
        return False
    if tool_kinds.kind_of(name, arguments) != "run":
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
