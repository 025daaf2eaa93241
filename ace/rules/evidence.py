"""Find the evidence in a task: the exact spans of errors, fixes and requests."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from ace.rules import error_patterns, error_signature
from ace.rules.task import Task, ToolCall

__all__ = ["Evidence", "find"]

_RULE = re.compile(r"([\w/-]{2,40}): ")

# In characters. A long report names its errors at its beginning or at its end.
EDGE = 60_000
MAX_QUOTE = 600
MAX_EVIDENCE = 200
MAX_PER_TEXT = 40
LINE_BEFORE, LINE_AFTER = 160, 200
# This many equal calls with equal results are a loop (docs/ace.md, "Evidence").
LOOP = 3


@dataclass(frozen=True)
class Evidence:
    """A span of a task's text: `task.text(field)[start:end]` is the quote.

    Equal errors have equal signatures. `error_type` is blank if the evidence is not an
    error, but a call, a habit or a request.
    """

    kind: str
    code: str | None
    error_type: str
    message: str
    field: str
    start: int
    end: int
    signature: str


def find(task: Task) -> list[Evidence]:
    """Return at most MAX_EVIDENCE spans: errors, repairs, habits and directives."""
    return list(dict.fromkeys(_of_failed_calls(task)))[:MAX_EVIDENCE]


_RANKS = {
    sign.kind: rank
    for rank, sign in reversed([*enumerate(error_patterns.ERROR_PATTERNS)])
}


def rank(span: Evidence) -> int:
    """Return the rank of the kind. A specific kind, such as an exception, has a lower rank."""
    return _RANKS.get(span.kind, len(_RANKS) * 10)


def strongest(call: ToolCall, evidence: Iterable[Evidence]) -> Evidence | None:
    """Return the most specific evidence in the result of a failed call."""
    in_result = [span for span in evidence if span.field == call.result_field]
    return min(in_result, key=rank, default=None)


def strongest_per_call(task: Task, evidence: Iterable[Evidence]) -> Iterator[Evidence]:
    """Yield the most specific evidence in each result, and all evidence outside of results."""
    spans = list(evidence)
    results = {call.result_field: call for call in task.calls}
    for span in spans:
        call = results.get(span.field)
        if call is None or span is strongest(call, spans):
            yield span


def group_by_error(evidence: Sequence[Evidence]) -> list[list[Evidence]]:
    """Group overlapping spans, which belong to one error. The most specific span comes first."""
    errors: list[list[Evidence]] = []
    for span in sorted(evidence, key=rank):
        same = (error for error in errors if _overlap(error[0], span))
        if error := next(same, None):
            error.append(span)
        else:
            errors.append([span])
    return sorted(errors, key=lambda error: evidence.index(error[0]))


def quote(task: Task, span: Evidence) -> str:
    return task.text(span.field)[span.start : span.end]


def locate(task: Task, span: Evidence) -> dict[str, str | int]:
    """Return the place and the words of evidence as rows keep them: field, start, end, quote."""
    return {
        "field": span.field,
        "start": span.start,
        "end": span.end,
        "quote": quote(task, span),
    }


def make(
    kind: str, field: str, start: int, end: int, message: str, key: str = ""
) -> Evidence:
    """Make evidence that is not an error: the arguments of a call, a name or a sentence."""
    signature = error_signature.build(kind, "", None, key or message)
    return Evidence(kind, None, "", message, field, start, end, signature)


def scan(text: str, field: str) -> list[Evidence]:
    """Find the errors in one text, tracebacks first.

    If two spans of one kind overlap, keep only the span that was found first.
    """
    found: list[Evidence] = []
    for offset, part in _edges(text):
        found += _tracebacks(part, field, offset)
        low = part.lower()
        for pattern in error_patterns.ERROR_PATTERNS:
            if not pattern.hint or any(hint in low for hint in pattern.hint):
                found += _matches(pattern, part, field, offset)
    return _without_overlaps(found)


def _edges(text: str) -> list[tuple[int, str]]:
    if len(text) <= 2 * EDGE:
        return [(0, text)]
    return [(0, text[:EDGE]), (len(text) - EDGE, text[-EDGE:])]


def _tracebacks(part: str, field: str, offset: int) -> Iterator[Evidence]:
    low, start = part.lower(), 0
    for _ in range(MAX_PER_TEXT):
        start = low.find(error_patterns.TRACEBACK, start)
        if start < 0:
            return
        after = start + len(error_patterns.TRACEBACK)
        following = low.find(error_patterns.TRACEBACK, after)
        end = following if following > 0 else len(part)
        error = error_patterns.EXCEPTION.search(part, after, end)
        if error:
            yield _traceback(part, field, offset, after, error)
        start = after


def _traceback(
    part: str, field: str, offset: int, after: int, error: re.Match[str]
) -> Evidence:
    """Return evidence from the last frame of the project to the message.

    If that quote is too long, the evidence is the line of the exception only.
    """
    frames = list(error_patterns.FRAME.finditer(part, after, error.start()))
    own = [
        frame
        for frame in frames
        if not error_patterns.FOREIGN_FRAME.search(frame["path"])
    ]
    frame = (own or frames)[-1] if frames else None
    start, code = error.start(), None
    if frame:
        name = frame["path"].replace("\\", "/").rpartition("/")[2]
        code = f"{name}:{frame['function'] or 'module'}".strip()
        if error.end() - frame.start() <= MAX_QUOTE:
            start = frame.start()
    kind, message = error["type"], (error["message"] or "").strip()
    signature = error_signature.build("exception", kind, code, message)
    return Evidence(
        "exception", code, kind, message, field, offset + start,
        offset + error.end(), signature,
    )  # fmt: skip


def _matches(
    pattern: error_patterns.ErrorPattern, part: str, field: str, offset: int
) -> Iterator[Evidence]:
    for count, match in enumerate(pattern.pattern.finditer(part)):
        if count == MAX_PER_TEXT:
            return
        groups = match.groupdict()
        start, end = match.span()
        if "message" not in groups:
            start, end = _line(part, start, end)
        message = (groups.get("message") or part[start:end]).strip()
        code = groups.get("code") or groups.get("status") or groups.get("number")
        kind = (groups.get("type") or pattern.kind).strip()
        if pattern.kind == "lint":
            rule = f"{code} {_rule_of(message)}".strip()
            signature = error_signature.build("lint", kind, rule, "")
        else:
            signature = error_signature.build(pattern.kind, kind, code, message)
        yield Evidence(
            pattern.kind, code, kind, message, field, offset + start, offset + end,
            signature,
        )  # fmt: skip


def _rule_of(message: str) -> str:
    """Return the rule that a finding of a linter begins with: "G104: …", "unused-result: …"."""
    found = _RULE.match(message)
    return found[1] if found else ""


def _line(part: str, start: int, end: int) -> tuple[int, int]:
    """Return the start and end of the line around a match, within limits."""
    first = part.rfind("\n", max(0, start - LINE_BEFORE), start) + 1
    if first == 0:
        first = max(0, start - LINE_BEFORE)
    last = part.find("\n", end, end + LINE_AFTER)
    if last < 0:
        last = min(len(part), end + LINE_AFTER)
    return first, last


def _without_overlaps(found: list[Evidence]) -> list[Evidence]:
    kept: dict[str, list[Evidence]] = defaultdict(list)
    for item in found:
        others = kept[item.kind]
        if len(others) < MAX_PER_TEXT and all(_disjoint(item, old) for old in others):
            others.append(item)
    spans = [item for items in kept.values() for item in items]
    return sorted(spans, key=lambda item: (item.start, item.end))


def _overlap(one: Evidence, other: Evidence) -> bool:
    return one.field == other.field and not _disjoint(one, other)


def _disjoint(one: Evidence, other: Evidence) -> bool:
    return one.end <= other.start or other.end <= one.start


def _of_failed_calls(task: Task) -> Iterator[Evidence]:
    for call in task.calls:
        if call.has_failed:
            found = scan(call.result, call.result_field)
            yield from found or _first_words(call)


def _first_words(call: ToolCall) -> list[Evidence]:
    """Return the first line of the result, for a failed call that no pattern matches."""
    stripped = call.result.lstrip()
    start = len(call.result) - len(stripped)
    end = start + len(stripped.split("\n", 1)[0][:MAX_QUOTE].rstrip())
    if end == start:
        return []
    message = call.result[start:end]
    signature = error_signature.build("tool_error", call.tool_name, None, message)
    return [
        Evidence(
            "tool_error",
            None,
            "tool_error",
            message,
            call.result_field,
            start,
            end,
            signature,
        )
    ]
