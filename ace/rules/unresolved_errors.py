"""Find errors that a task does not resolve. If an error occurs again, draw a lesson.

Such a lesson is about a rule of a linter, or about a rule that a tool of the domain states in
its error. How a shell or the tools of the harness fail is known to every agent.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher

from ace.rules import causes, error_summary
from ace.rules import evidence as spans
from ace.rules.evidence import Evidence
from ace.rules.feedback import advice
from ace.rules.files import file_paths
from ace.rules.outcome.task_outcome import TaskOutcome
from ace.rules.repairs import call_repairs
from ace.rules.task import Task
from ace.rules.task_lesson import TaskLesson, category_of, is_sound

# Even the worst runs have fewer different errors.
MAX_ERRORS = 20
# Lower than for any repair, because no run has shown that the action works
# (docs/ace.md, "Lessons").
CONFIDENCE = {"success": 0.4, "partial": 0.5, "failure": 0.5}

# The action for a failed call of any tool, by cause. Other causes have no action.
_ACTIONS: Mapping[str, str] = {
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
# A linter also reports that the code does not compile, which nobody does on purpose.
_BROKEN_CODE = re.compile(
    r"E9\d{2}|typecheck|syntax|undefined: |imported and not used|is unused$", re.I
)
_EXTENSION = re.compile(r"[^\s:]{1,200}\.(\w{1,8}):\d")
_COLON = re.compile(r": ")
# An error that says what holds for every call, and not only how things are now.
_STATES_RULE = re.compile(
    r"\b(?:can ?not|can't|may not|must|only|not (?:allowed|permitted|supported|accepted|valid)"
    r"|requires?|required|needs?|unsupported|at (?:most|least)|expect(?:s|ed))\b",
    re.IGNORECASE,
)
# A message with fewer words does not say what is wrong.
MIN_FINDING_WORDS = 4
_VARYING = re.compile(r"\S{0,80}\d\S{0,80}")
_QUOTE_MARKS = '"`'
# A part with fewer words does not identify the error.
MIN_STABLE_WORDS = 3
MIN_PHRASE_WORDS = 2
_IGNORED_KINDS = (
    frozenset(
        {"failed_call", "fixed_call", "exit_code", "test_failure", "loop", "no_check"}
    )
    | advice.KINDS
)


@dataclass(frozen=True)
class UnresolvedError:
    """An error that no lesson covers. `action` is blank if no general action helps.

    Errors have equal signatures if they differ only in numbers, ids, times and folders.
    """

    signature: str
    root_cause: str
    condition: str
    action: str
    detail: str
    evidence: tuple[Evidence, ...]

    @property
    def content(self) -> str:
        detail = f": {self.detail}" if self.detail else ""
        return f"When {self.condition}, {self.action}{detail}."


def find(
    task: Task,
    evidence: Sequence[Evidence],
    known_lessons: Sequence[TaskLesson],
    rows: tuple[causes.CauseRow, ...] = (),
) -> list[UnresolvedError]:
    """Return the errors that no lesson covers, one for each signature."""
    known = {
        observation_signature(task, span)
        for lesson in known_lessons
        for span in lesson.evidence
    }
    found: dict[str, UnresolvedError] = {}
    for span in _errors(task, evidence):
        key = observation_signature(task, span)
        if span.kind not in _IGNORED_KINDS and key not in known and key not in found:
            found[key] = _to_unresolved_error(task, span, rows)
        if len(found) == MAX_ERRORS:
            break
    return list(found.values())


def _errors(task: Task, evidence: Sequence[Evidence]) -> Iterator[Evidence]:
    """Yield each finding of a linter, and the most specific error of each other result."""
    linted = {span.field for span in evidence if span.kind == "lint"}
    yield from (span for span in evidence if span.kind == "lint")
    for span in spans.strongest_per_call(task, evidence):
        if span.field not in linted or span.field == "feedback":
            yield span


def observation_signature(task: Task, span: Evidence) -> str:
    """Return the signature that a project stores for an observed error of a tool.

    The rule of a linter is the same, whatever command runs the linter.
    """
    call = task.call(span.field) if span.kind != "lint" else None
    tool = call_repairs.tool_label(call) if call else ""
    return hashlib.sha256(
        f"{tool}|{span.signature}".encode(errors="surrogatepass")
    ).hexdigest()


def to_lesson(
    task: Task,
    error: UnresolvedError,
    outcome: TaskOutcome,
    *,
    earlier_detail: str,
    reason: str,
) -> TaskLesson | None:
    """Return the lesson from an error that occurs again.

    `earlier_detail` is the detail of the earlier run that `reason` names.
    """
    if not error.action:
        return None
    shared = shared_detail(error.detail, earlier_detail)
    if shared is None:
        return None
    error = replace(error, detail=shared)
    quotes = [spans.quote(task, span) for span in error.evidence]
    if not is_sound(error.content, quotes):
        return None
    return TaskLesson(
        condition=error.condition,
        action=error.action,
        content=error.content,
        category=category_of(error.root_cause),
        root_cause=error.root_cause,
        evidence=error.evidence,
        signature=f"seen|{error.signature}",
        confidence=CONFIDENCE.get(outcome.value, 0.4),
        reason=reason,
    )


def shared_detail(detail: str, earlier: str) -> str | None:
    """Quote the phrases that an error had in two runs; what differs is of one place only.

    Return None if two errors of one rule or tool say different things.
    """
    if detail == earlier:
        return detail
    here, there = (text.strip(_QUOTE_MARKS).split() for text in (detail, earlier))
    blocks = SequenceMatcher(None, here, there, autojunk=False).get_matching_blocks()
    phrases = [
        error_summary.as_quote(" ".join(here[block.a : block.a + block.size]))
        for block in blocks
        if block.size >= MIN_PHRASE_WORDS
    ]
    is_clear = any(len(each.split()) >= MIN_FINDING_WORDS for each in phrases)
    return " \u2026 ".join(phrases) if is_clear else None


def _to_unresolved_error(
    task: Task, span: Evidence, rows: tuple[causes.CauseRow, ...]
) -> UnresolvedError:
    cause = causes.root_cause((span,), rows)
    condition, action, detail = _parts(task, span, cause)
    return UnresolvedError(
        signature=observation_signature(task, span),
        root_cause=cause,
        condition=condition,
        action=action,
        detail=detail,
        evidence=tuple(_quotes(task, span)),
    )


def _parts(task: Task, span: Evidence, cause: str) -> tuple[str, str, str]:
    """Return the condition, the action and the detail. The action is blank if none helps."""
    quote = spans.quote(task, span)
    call = task.call(span.field)
    if span.kind == "lint" and span.code:
        action = f"avoid what `{span.code}` reports"
        broken = _BROKEN_CODE.search(f"{span.code} {span.message}")
        condition = f"writing {_language(quote)}code"
        return (
            condition,
            "" if broken else action,
            error_summary.as_quote(_finding(span.message)),
        )
    detail = _stable_part(error_summary.summarise(quote, span))
    is_rule = len(detail.split()) >= MIN_FINDING_WORDS and _STATES_RULE.search(detail)
    if call is None or not call.is_of_domain or not is_rule:
        return "", "", detail
    return f"calling `{call.tool_name}`", _ACTIONS.get(cause, ""), detail


def _finding(message: str) -> str:
    """Return the message of a linter without the details behind a colon."""
    for colon in _COLON.finditer(message):
        if len(message[: colon.start()].split()) >= MIN_FINDING_WORDS:
            return message[: colon.start()]
    return message


def _language(line: str) -> str:
    """Return the language of the file that a line of a report names, with a space."""
    found = _EXTENSION.match(line.strip())
    name = file_paths.LANGUAGES.get(found[1].lower(), "") if found else ""
    return f"{name.capitalize()} " if name else ""


def _stable_part(clause: str) -> str:
    """Return the longest part of an error that has no number or id, because those vary."""
    if not any(map(str.isdigit, clause)):
        return clause
    parts = _VARYING.split(clause.strip('"`'))
    longest = max(parts, key=lambda part: len(part.split())).strip(" .,:;(-'\"`")
    return f'"{longest}"' if len(longest.split()) >= MIN_STABLE_WORDS else ""


def _quotes(task: Task, span: Evidence) -> Iterator[Evidence]:
    """Yield the error and the name of the tool or program as quotes."""
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
