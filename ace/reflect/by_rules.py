"""Reflect on a task by the rules: outcome, evidence, lessons and votes."""

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
from ace.rules.outcome import task_outcome
from ace.rules.outcome.task_outcome import TaskOutcome
from ace.rules.task import Task
from ace.rules.task_lesson import TaskLesson
from ace.rules.unresolved_errors import UnresolvedError
from common.text import literals
from playbook.history.votes import Vote
from playbook.models import PlaybookEntry
from projects.models import Project


@dataclass(frozen=True)
class RuleFindings:
    """What the rules found in a task; nothing of it is stored yet."""

    outcome: TaskOutcome
    evidence: Sequence[Evidence]
    lessons: Sequence[TaskLesson]
    insights: Sequence[Insight]
    votes: Sequence[Vote]
    root_cause: str
    abstention: str
    rows: tuple[causes.CauseRow, ...] = ()
    unresolved_errors: Sequence[UnresolvedError] = ()


def reflect(
    task: Task,
    project: Project,
    *,
    entries: Sequence[PlaybookEntry],
    cited_ids: set[uuid.UUID],
) -> RuleFindings:
    """Reflect on a task by the rules alone (REQ-MEM-ACE-002)."""
    outcome = task_outcome.resolve(task)
    evidence = spans.find(task)
    rows = project_causes(project)
    drawn_lessons = lessons.draw(task, outcome, evidence, rows)
    errors = [span for span in evidence if span.error_type or span.code]
    return RuleFindings(
        outcome=outcome,
        evidence=evidence,
        lessons=drawn_lessons.lessons,
        insights=drawn_lessons.insights,
        votes=votes(task, outcome, errors, entries=entries, cited_ids=cited_ids),
        root_cause=_root_cause(outcome, evidence, errors, rows),
        abstention=drawn_lessons.abstention or "",
        rows=rows,
        unresolved_errors=unresolved_errors.find(
            task, evidence, drawn_lessons.lessons, rows
        ),
    )


def _root_cause(
    outcome: TaskOutcome,
    evidence: Sequence[Evidence],
    errors: Sequence[Evidence],
    rows: tuple[causes.CauseRow, ...],
) -> str:
    """Return the root cause of the errors, or of a failure without errors.

    Return a blank text if there is neither an error nor a failure.
    """
    went_wrong = outcome.value in ("failure", "partial")
    return causes.root_cause(evidence, rows) if errors or went_wrong else ""


def votes(
    task: Task,
    outcome: TaskOutcome,
    errors: Sequence[Evidence],
    *,
    entries: Sequence[PlaybookEntry],
    cited_ids: set[uuid.UUID],
) -> list[Vote]:
    """Return a vote on each entry that the agent was given or that it cited.

    Return no votes if the outcome is unknown.
    """
    if outcome.value == "unknown":
        return []
    return [
        _vote(task, outcome, errors, entry, entry.pk in cited_ids) for entry in entries
    ]


def _vote(
    task: Task,
    outcome: TaskOutcome,
    errors: Sequence[Evidence],
    entry: PlaybookEntry,
    is_cited: bool,
) -> Vote:
    if is_cited and outcome.value == "success":
        return Vote(entry.pk, "helpful", "The agent cited it and the task succeeded.")
    if is_cited and outcome.value == "failure" and _is_implicated(task, entry, errors):
        return Vote(
            entry.pk,
            "harmful",
            "The agent cited it, the task failed, and it is about what failed.",
        )
    return Vote(entry.pk, "neutral", "Given to the agent; nothing ties it to the end.")


def _is_implicated(
    task: Task, entry: PlaybookEntry, errors: Iterable[Evidence]
) -> bool:
    """Return whether the entry is about what went wrong.

    The entry contains the wrong answer, or names a tool that failed or an identifier
    from an error.
    """
    wrong = corrections.wrong_answer(task)
    if wrong and wrong in literals.find_literals(entry.action or entry.content):
        return True
    names = {word.lower() for word in literals.find_identifiers(entry.content)}
    words = {word.lower() for word in entry.content.split()}
    for span in errors:
        quote = spans.quote(task, span)
        if names & {word.lower() for word in literals.find_identifiers(quote)}:
            return True
        tool = _tool(task, span.field)
        if tool and (tool in names or tool in words):
            return True
    return False


def _tool(task: Task, field: str) -> str:
    call = task.call(field)
    return call.tool_name.lower() if call else ""


def project_causes(project: Project) -> tuple[causes.CauseRow, ...]:
    """Return the root causes that the project defines."""
    return tuple(
        causes.CauseRow(row.code, phrases=tuple(word.lower() for word in row.words))
        for row in project.options.root_causes
    )


def to_json(task: Task, span: Evidence) -> dict[str, Any]:
    """Return the span in the format of the API, with its quote.

    `field`, `start` and `end` locate the quote in the request of the run.
    """
    return {**dataclasses.asdict(span), "quote": spans.quote(task, span)}


def from_json(data: Mapping[str, Any]) -> Evidence:
    """Return the span from which `to_json` made this data."""
    return Evidence(**{name: v for name, v in data.items() if name != "quote"})
