"""Find the errors of a task about which no lesson was drawn."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ace.repairs import commands
from ace.rules import causes
from ace.rules import evidence as spans
from ace.rules.evidence import Evidence
from ace.rules.feedback import advice
from ace.rules.task import Task
from ace.rules.task_lesson import TaskLesson

# Even the worst runs have fewer different errors.
MAX_ERRORS = 20
_IGNORED_KINDS = (
    frozenset(
        {"failed_call", "fixed_call", "exit_code", "test_failure", "loop", "no_check"}
    )
    | advice.KINDS
)


@dataclass(frozen=True)
class UnresolvedError:
    """An error that no lesson covers.

    Errors have equal signatures if they differ only in numbers, ids, times and folders.
    """

    signature: str
    root_cause: str
    span: Evidence


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
            cause = causes.root_cause((span,), rows)
            found[key] = UnresolvedError(key, cause, span)
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
    tool = commands.tool_label(call) if call else ""
    return hashlib.sha256(
        f"{tool}|{span.signature}".encode(errors="surrogatepass")
    ).hexdigest()
