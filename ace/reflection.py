"""The reflector as a phase of a run: it reads, writes one Reflection, and reports."""

from __future__ import annotations

import dataclasses
import uuid
from typing import Any

from django.db.models import Q

from ace import reflector
from ace.models import AceRun, Reflection
from ace.reflector import Reflected
from ace.rules import task as tasks
from ace.rules.evidence import Evidence
from ace.rules.task import Task
from common.caller import Caller
from playbook import neighbours
from playbook.models import PlaybookEntry

# What an ACEResult shows; the Reflection keeps everything.
ERRORS_SHOWN = 20


def reflect(run: AceRun, caller: Caller) -> dict[str, Any]:
    """Reflect on the run's task once; a second call reports the same."""
    task = tasks.parse(run.request)
    cited = entries_named(run, "cited_entry_ids")
    used = entries_named(run, "cited_entry_ids", "injected_entry_ids")
    read = reflector.reflect(
        task, run.project, used=used, cited={entry.pk for entry in cited}
    )
    related = neighbours.related(run.project, _subject(task, read))
    Reflection.objects.get_or_create(
        run=run,
        defaults={"project": run.project, **_columns(task, read, related)},
    )
    return {
        "outcome": read.outcome.value,
        "outcome_source": read.outcome.source,
        "insights": [_insight(task, insight) for insight in read.insights],
        "errors": _errors(task, read),
        "related_playbook_entries": [
            {
                "id": str(near.entry.pk),
                "label": near.entry.label,
                "content": near.entry.content,
                "similarity": near.similarity,
            }
            for near in related
        ],
        "lessons": [
            {
                "content": lesson.content,
                "category": lesson.category,
                "root_cause": lesson.root_cause,
                "confidence": lesson.confidence,
            }
            for lesson in read.lessons
        ],
        "abstained": read.abstained or None,
    }


def entries_named(run: AceRun, *fields: str) -> list[PlaybookEntry]:
    """The entries of the project that the request names by id or label."""
    names = [str(name) for field in fields for name in run.request.get(field) or []]
    ids = [value for name in names if (value := _uuid(name))]
    rows = PlaybookEntry.objects.filter(project=run.project).light()
    return list(rows.filter(Q(pk__in=ids) | Q(label__in=names)).order_by("pk"))


def _uuid(name: str) -> uuid.UUID | None:
    try:
        return uuid.UUID(name)
    except ValueError:
        return None


def _subject(task: Task, read: Reflected) -> str:
    """What the task was about: its lessons, else its goal."""
    lessons = " ".join(lesson.content for lesson in read.lessons)
    return lessons or task.goal or task.result


def _columns(
    task: Task, read: Reflected, related: list[neighbours.Neighbour]
) -> dict[str, Any]:
    errors = _errors(task, read)
    lesson = read.lessons[0] if read.lessons else None
    return {
        "outcome": read.outcome.value,
        "outcome_source": read.outcome.source,
        "outcome_confidence": read.outcome.confidence,
        "outcome_reason": read.outcome.reason[:500],
        "error_identification": errors[0]["message"] if errors else "",
        "root_cause": read.root_cause,
        "correct_approach": lesson.action if lesson else "",
        "key_insight": lesson.content if lesson else "",
        "evidence": [reflector.as_json(task, span) for span in read.evidence],
        "insights": [_insight(task, insight) for insight in read.insights],
        "lessons": [
            {
                **dataclasses.asdict(each),
                "evidence": [reflector.as_json(task, span) for span in each.evidence],
            }
            for each in read.lessons
        ],
        "votes": [
            {"entry_id": str(vote.entry_id), "kind": vote.kind, "reason": vote.reason}
            for vote in read.votes
        ],
        "related": [
            {"entry_id": str(near.entry.pk), "similarity": near.similarity}
            for near in related
        ],
        "abstained": read.abstained[:500],
    }


def _insight(task: Task, insight: Any) -> dict[str, Any]:
    return {
        "insight_type": insight.insight_type,
        "content": insight.content,
        "confidence": insight.confidence,
        "evidence": [reflector.as_json(task, span) for span in insight.evidence],
    }


def _errors(task: Task, read: Reflected) -> list[dict[str, Any]]:
    """The distinct errors of a task: {error_type, message, root_cause, evidence}."""
    distinct: dict[str, Evidence] = {}
    for span in read.evidence:
        if span.error_type or span.code:
            distinct.setdefault(span.signature, span)
    return [
        {
            "error_type": span.error_type or span.code or span.kind,
            "message": span.message,
            "root_cause": read.cause_of(span),
            "evidence": [reflector.as_json(task, span)],
        }
        for span in list(distinct.values())[:ERRORS_SHOWN]
    ]
