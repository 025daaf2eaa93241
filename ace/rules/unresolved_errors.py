"""Trouble that a task shows and does not mend: what it would teach, if seen again."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ace.rules import causes, error_summary, lessons
from ace.rules import evidence as spans
from ace.rules.evidence import Evidence
from ace.rules.feedback import advice
from ace.rules.lessons import TaskLesson
from ace.rules.outcome.task_outcome import TaskOutcome
from ace.rules.repairs import call_repairs
from ace.rules.task import Task

# The worst runs fail in a few ways, many times.
MAX_ERRORS = 20
# Below any repair: nobody has seen the action work (docs/ace.md, "Lessons").
CONFIDENCE = {"success": 0.4, "partial": 0.5, "failure": 0.5}

# What to do about a call that fails in this way, whatever the tool. A cause without a
# line teaches nothing that a reader could do.
_OF_CALLS: Mapping[str, str] = {
    "RATE_LIMIT": "pause before calling it again and make fewer calls",
    "CONCURRENCY": "expect other writers and try again after a pause",
    "AUTH": "make sure that valid credentials are set before the call",
    "PERMISSION": "make sure that the access is granted before the call",
    "ENCODING": "pass the encoding of the text explicitly",
    "DEPENDENCY": "install what is missing before the call",
    "ENV_SETUP": "make sure that what it needs is set up before the call",
    "TIMEOUT": "ask for less at once or allow more time",
    "TOOL_ARGS": "check which arguments it takes before the call",
    "API_SCHEMA": "check what it accepts before the call",
    "FORMAT": "check the form of the values before the call",
    "NOT_FOUND": "look up what exists before the call instead of guessing",
    "VALUE_MISMATCH": "check the values against each other before the call",
    "INCOMPLETE_DATA": "check that what it needs is there before the call",
}
# Of a command these say that the code at hand was wrong, and nothing about the next.
_OF_CODE = frozenset(
    {"API_SCHEMA", "FORMAT", "VALUE_MISMATCH", "INCOMPLETE_DATA", "ENCODING"}
)
# Codes under which linters report what does not even parse.
_SYNTAX = re.compile(r"E9\d{2}")
_VARYING = re.compile(r"\S{0,80}\d\S{0,80}")
# Fewer words left of an error no longer say which it is.
MIN_STABLE_WORDS = 3
_IGNORED_KINDS = frozenset({"failed_call", "fixed_call", "exit_code"}) | advice.KINDS


@dataclass(frozen=True)
class UnresolvedError:
    """`action` is blank where nothing can be said that would help.

    Equal signatures, equal trouble: with other numbers, ids, times and folders.
    """

    signature: str
    root_cause: str
    condition: str
    action: str
    observed: str
    evidence: tuple[Evidence, ...]

    @property
    def content(self) -> str:
        told = f": {self.observed}" if self.observed else ""
        return f"When {self.condition}, {self.action}{told}."


def find(
    task: Task,
    evidence: Sequence[Evidence],
    taught: Sequence[TaskLesson],
    rows: tuple[causes.CauseRow, ...] = (),
) -> list[UnresolvedError]:
    """What went wrong and no lesson speaks of, once per signature."""
    known = {
        observation_signature(task, span) for each in taught for span in each.evidence
    }
    found: dict[str, UnresolvedError] = {}
    for span in spans.strongest_per_call(task, evidence):
        key = observation_signature(task, span)
        if span.kind not in _IGNORED_KINDS and key not in known and key not in found:
            found[key] = _to_unresolved_error(task, span, rows)
        if len(found) == MAX_ERRORS:
            break
    return list(found.values())


def observation_signature(task: Task, span: Evidence) -> str:
    """The signature under which this trouble is remembered."""
    call = task.call(span.field)
    tool = call_repairs.tool_label(call) if call else ""
    return hashlib.sha256(
        f"{tool}|{span.signature}".encode(errors="surrogatepass")
    ).hexdigest()


def to_lesson(
    task: Task, sighting: UnresolvedError, outcome: TaskOutcome, reason: str
) -> TaskLesson | None:
    """The lesson of a second sighting; `reason` names the first."""
    if not sighting.action or outcome.value == "unknown":
        return None
    quotes = [spans.quote(task, span) for span in sighting.evidence]
    if not lessons.is_sound(sighting.content, quotes):
        return None
    return TaskLesson(
        condition=sighting.condition,
        action=sighting.action,
        content=sighting.content,
        category=lessons.category(sighting.root_cause),
        root_cause=sighting.root_cause,
        evidence=sighting.evidence,
        signature=f"seen|{sighting.signature}",
        confidence=CONFIDENCE.get(outcome.value, 0.4),
        reason=reason,
    )


def _to_unresolved_error(
    task: Task, span: Evidence, rows: tuple[causes.CauseRow, ...]
) -> UnresolvedError:
    cause = causes.root_cause((span,), rows)
    condition, action, observed = _parts(task, span, cause)
    return UnresolvedError(
        signature=observation_signature(task, span),
        root_cause=cause,
        condition=condition,
        action=action,
        observed=observed,
        evidence=tuple(_quotes(task, span)),
    )


def _parts(task: Task, span: Evidence, cause: str) -> tuple[str, str, str]:
    """Condition, action and what was observed; no action where none would help."""
    told = _stable_part(error_summary.summarise(spans.quote(task, span), span))
    call = task.call(span.field)
    if span.kind == "test_failure" and span.code:
        return "finishing a change", f"run `{span.code}`", "it has failed before"
    if span.kind == "lint" and span.code and not _SYNTAX.match(span.code):
        return "writing code", f"avoid what `{span.code}` reports", told
    if call is None:
        return "", "", told
    name = call_repairs.tool_label(call)
    if span.kind == "loop":
        action = "change the arguments or the plan instead of repeating the same call"
        return f"calling `{name}`", action, ""
    if span.kind == "no_check":
        return f"changing files with `{name}`", "run a check before finishing", ""
    if call.command:
        action = "" if cause in _OF_CODE else _OF_CALLS.get(cause, "")
        return f"running `{name}`", action, told
    return f"calling `{name}`", _OF_CALLS.get(cause, ""), told


def _stable_part(clause: str) -> str:
    """Of an error with numbers or ids in it the longest part without: the next has others."""
    if not any(map(str.isdigit, clause)):
        return clause
    parts = _VARYING.split(clause.strip('"`'))
    longest = max(parts, key=lambda part: len(part.split())).strip(" .,:;(-'\"`")
    return f'"{longest}"' if len(longest.split()) >= MIN_STABLE_WORDS else ""


def _quotes(task: Task, span: Evidence) -> Iterator[Evidence]:
    """The trouble and the name of what was called, as quotes."""
    yield span
    call = task.call(span.field)
    if call is None:
        return
    name = call_repairs.tool_label(call)
    if name == call.tool_name:
        end = len(name)
        yield spans.make("tool_name", call.name_field, 0, end, name)
        return
    start = call.arguments_text.find(name)
    if start >= 0:
        end = start + len(name)
        yield spans.make("program", call.arguments_field, start, end, name)
