"""The reflector as a phase of a run: it reads, writes one Reflection, and reports."""

from __future__ import annotations

import dataclasses
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from ace.models import AceRun, Reflection
from ace.reflect import by_model as model_reflector
from ace.reflect import by_rules, cited_entries, credit_exposures, observations
from ace.reflect.by_model import ModelLessons, ReflectionProducer
from ace.reflect.by_rules import RuleFindings
from ace.rules import causes
from ace.rules import evidence as spans
from ace.rules import lessons as rules
from ace.rules import task as tasks
from ace.rules.evidence import Evidence
from ace.rules.lessons import TaskLesson
from ace.rules.task import Task
from common.caller import Caller
from common.text import plain_text
from playbook.entries import neighbours
from playbook.entries.neighbours import Neighbour
from playbook.history.votes import Vote
from playbook.models import PlaybookEntry
from projects.models import Project

# What an ACEResult shows; the Reflection keeps everything.
MAX_ERRORS = 20
LESSON_FIELDS = ("content", "category", "root_cause", "confidence", "producer")


def reflect(run: AceRun, caller: Caller) -> dict[str, Any]:
    """Reflect on the run's task once; a second call reports the same.

    What is reported is what was kept, so that of two processes both tell the same and
    a language model is not asked again.
    """
    credit_exposures.for_run(
        run,
        given=cited_entries.find(run.project, run.request, cited_entries.INJECTED),
        cited=cited_entries.find(run.project, run.request, cited_entries.CITED),
    )
    held = Reflection.objects.filter(run=run).first() or _create(run)
    return _report(run.project, held)


def _create(run: AceRun) -> Reflection:
    task = tasks.parse(run.request)
    read = _read_by_rules(run, task)
    taught = model_reflector.reflect(run, task, read)
    lessons = _lessons(task, read, taught)
    related = neighbours.find_related(run.project, _subject(task, lessons))
    kept, _ = Reflection.objects.get_or_create(
        run=run,
        defaults={
            "project": run.project,
            "lessons": lessons,
            "votes": [_vote(vote) for vote in read.votes],
            "related": [_related(near) for near in related],
            **_outcome(read),
            **_columns(task, read, taught),
        },
    )
    return kept


def _read_by_rules(run: AceRun, task: Task) -> RuleFindings:
    """What the rules make of it, with what earlier runs have shown."""
    cited = cited_entries.find(run.project, run.request, cited_entries.CITED)
    used = cited_entries.find(
        run.project, run.request, cited_entries.CITED, cited_entries.INJECTED
    )
    read = by_rules.reflect(
        task, run.project, used=used, cited={entry.pk for entry in cited}
    )
    return observations.learn(run, task, read)


def _lessons(
    task: Task, read: RuleFindings, taught: ModelLessons
) -> list[dict[str, Any]]:
    """The model's lessons, then those of the rules that do not say the same."""
    by_model = {plain_text.similarity_hash(lesson.content) for lesson in taught.lessons}
    others = [
        lesson
        for lesson in read.lessons
        if plain_text.similarity_hash(lesson.content) not in by_model
    ]
    return [
        *(_lesson(task, lesson, taught.author) for lesson in taught.lessons),
        *(_lesson(task, lesson, ReflectionProducer()) for lesson in others),
    ]


def _lesson(
    task: Task, lesson: TaskLesson, author: ReflectionProducer
) -> dict[str, Any]:
    return {
        **dataclasses.asdict(lesson),
        "evidence": [by_rules.to_json(task, span) for span in lesson.evidence],
        **dataclasses.asdict(author),
    }


def _subject(task: Task, lessons: Sequence[Mapping[str, Any]]) -> str:
    """What the task was about: its lessons, else its goal."""
    told = " ".join(lesson["content"] for lesson in lessons)
    return told or task.goal or task.result


def _vote(vote: Vote) -> dict[str, Any]:
    return {
        "entry_id": str(vote.entry_id),
        "kind": vote.kind,
        "reason": vote.reason,
    }


def _related(near: Neighbour) -> dict[str, Any]:
    return {"entry_id": str(near.entry.pk), "similarity": near.similarity}


def _outcome(read: RuleFindings) -> dict[str, Any]:
    return {
        "outcome": read.outcome.value,
        "outcome_source": read.outcome.source,
        "outcome_confidence": read.outcome.confidence,
        "outcome_reason": read.outcome.reason[:500],
    }


def _columns(task: Task, read: RuleFindings, taught: ModelLessons) -> dict[str, Any]:
    lessons = [*taught.lessons, *read.lessons]
    error = next((span for span in read.evidence if is_error(span)), None)
    return {
        "error_identification": taught.error_identification
        or (error.message if error else ""),
        "root_cause": taught.root_cause or read.root_cause,
        "correct_approach": taught.correct_approach
        or (lessons[0].action if lessons else ""),
        "key_insight": taught.key_insight or (lessons[0].content if lessons else ""),
        "evidence": [by_rules.to_json(task, span) for span in read.evidence],
        "insights": _insights(task, read, taught),
        "abstained": "" if taught.lessons else read.abstention[:500],
        "notes": list(taught.notes),
        **dataclasses.asdict(taught.author),
    }


def _insights(
    task: Task, read: RuleFindings, taught: ModelLessons
) -> list[dict[str, Any]]:
    found = [*map(rules.to_insight, taught.lessons), *read.insights]
    return [
        {
            "insight_type": insight.insight_type,
            "content": insight.content,
            "confidence": insight.confidence,
            "evidence": [by_rules.to_json(task, span) for span in insight.evidence],
        }
        for insight in found
    ]


def _report(project: Project, kept: Reflection) -> dict[str, Any]:
    """The reflection's part of an ACEResult."""
    return {
        "outcome": kept.outcome,
        "outcome_source": kept.outcome_source,
        "insights": kept.insights,
        "errors": _errors(project, kept.evidence),
        "related_playbook_entries": _entries(kept.related),
        "lessons": [
            {name: lesson[name] for name in LESSON_FIELDS} for lesson in kept.lessons
        ],
        "abstained": kept.abstained or None,
    }


def _entries(related: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    ids = [uuid.UUID(near["entry_id"]) for near in related]
    entries = PlaybookEntry.objects.light().in_bulk(ids)
    return [
        {
            "id": str(pk),
            "label": entries[pk].label,
            "content": entries[pk].content,
            "similarity": near["similarity"],
        }
        for pk, near in zip(ids, related, strict=True)
        if pk in entries
    ]


def _errors(
    project: Project, evidence: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """The distinct errors of a task: {error_type, message, root_cause, evidence}."""
    told = {by_rules.from_json(shown): shown for shown in evidence}
    rows = by_rules.project_causes(project)
    distinct: dict[str, list[Evidence]] = {}
    for marks in spans.group_by_error([span for span in told if is_error(span)]):
        distinct.setdefault(marks[0].signature, marks)
    return [
        {
            "error_type": span.error_type or span.code or span.kind,
            "message": span.message,
            "root_cause": causes.root_cause([span, *others], rows),
            "evidence": [told[span]],
        }
        for span, *others in list(distinct.values())[:MAX_ERRORS]
    ]


def is_error(span: Evidence) -> bool:
    return bool(span.error_type or span.code)
