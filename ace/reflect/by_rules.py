"""Second phase: how the task ended, what shows it, and what it teaches."""

from __future__ import annotations

import dataclasses
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ace.rules import causes, corrections, lessons, unresolved_errors
from ace.rules import evidence as spans
from ace.rules.evidence import Evidence
from ace.rules.insights import Insight
from ace.rules.lessons import TaskLesson
from ace.rules.outcome import task_outcome
from ace.rules.outcome.task_outcome import TaskOutcome
from ace.rules.task import Task
from ace.rules.unresolved_errors import UnresolvedError
from common.text import literals
from playbook.history.votes import Vote
from playbook.models import PlaybookEntry
from projects.models import Project


@dataclass(frozen=True)
class RuleFindings:
    """What the rules made of a task, before anything is written."""

    outcome: TaskOutcome
    evidence: Sequence[Evidence]
    lessons: Sequence[TaskLesson]
    insights: Sequence[Insight]
    votes: Sequence[Vote]
    root_cause: str
    abstention: str
    rows: tuple[causes.CauseRow, ...] = ()
    sightings: Sequence[UnresolvedError] = ()


def reflect(
    task: Task,
    project: Project,
    *,
    used: Sequence[PlaybookEntry],
    cited: set[uuid.UUID],
) -> RuleFindings:
    """Read a task by the rules alone (REQ-MEM-ACE-002)."""
    ended = task_outcome.resolve(task)
    found = spans.find(task)
    rows = project_causes(project)
    drawn = lessons.draw(task, ended, found, rows)
    failed = [span for span in found if span.error_type or span.code]
    return RuleFindings(
        outcome=ended,
        evidence=found,
        lessons=drawn.lessons,
        insights=drawn.insights,
        votes=votes(task, ended, failed, used=used, cited=cited),
        root_cause=_root_cause(ended, found, failed, rows),
        abstention=drawn.abstention or "",
        rows=rows,
        sightings=unresolved_errors.find(task, found, drawn.lessons, rows),
    )


def _root_cause(
    ended: TaskOutcome,
    found: Sequence[Evidence],
    failed: Sequence[Evidence],
    rows: tuple[causes.CauseRow, ...],
) -> str:
    """Why it went wrong, also without an error: a loop has none. Blank if it did not."""
    went_wrong = ended.value in ("failure", "partial")
    return causes.root_cause(found, rows) if failed or went_wrong else ""


def votes(
    task: Task,
    ended: TaskOutcome,
    failed: Sequence[Evidence],
    *,
    used: Sequence[PlaybookEntry],
    cited: set[uuid.UUID],
) -> list[Vote]:
    """One vote for each entry that the agent was given; none on an unknown outcome."""
    if ended.value == "unknown":
        return []
    return [_vote(task, ended, failed, entry, entry.pk in cited) for entry in used]


def _vote(
    task: Task,
    ended: TaskOutcome,
    failed: Sequence[Evidence],
    entry: PlaybookEntry,
    is_cited: bool,
) -> Vote:
    if is_cited and ended.value == "success":
        return Vote(entry.pk, "helpful", "The agent cited it and the task succeeded.")
    if is_cited and ended.value == "failure" and _is_implicated(task, entry, failed):
        return Vote(
            entry.pk,
            "harmful",
            "The agent cited it, the task failed, and what failed is what it speaks of.",
        )
    return Vote(entry.pk, "neutral", "Given to the agent; nothing ties it to the end.")


def _is_implicated(
    task: Task, entry: PlaybookEntry, failed: Iterable[Evidence]
) -> bool:
    """Whether an entry told the wrong answer, or names a tool or identifier that failed."""
    wrong = corrections.wrong_answer(task)
    if wrong and wrong in literals.find_literals(entry.action or entry.content):
        return True
    named = {word.lower() for word in literals.find_identifiers(entry.content)}
    words = {word.lower() for word in entry.content.split()}
    for span in failed:
        quote = spans.quote(task, span)
        if named & {word.lower() for word in literals.find_identifiers(quote)}:
            return True
        tool = _tool(task, span.field)
        if tool and (tool in named or tool in words):
            return True
    return False


def _tool(task: Task, field: str) -> str:
    call = task.call(field)
    return call.tool_name.lower() if call else ""


def project_causes(project: Project) -> tuple[causes.CauseRow, ...]:
    """The project's own root causes, before the built-in ones."""
    return tuple(
        causes.CauseRow(row.code, phrases=tuple(word.lower() for word in row.words))
        for row in project.options.root_causes
    )


def to_json(task: Task, span: Evidence) -> dict[str, Any]:
    """A span as the API shows it; `field`, `start` and `end` slice to the quote."""
    return {**dataclasses.asdict(span), "quote": spans.quote(task, span)}


def from_json(shown: Mapping[str, Any]) -> Evidence:
    """A span as it was before `as_json`."""
    return Evidence(**{name: v for name, v in shown.items() if name != "quote"})
