"""Run the reflector, a phase of a run: store one Reflection and report from it."""

from __future__ import annotations

import dataclasses
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from ace.models import AceRun, Reflection
from ace.reflect import (
    by_model,
    by_rules,
    cited_entries,
    credit_exposures,
    episode_lessons,
    judged_votes,
    lasting_wishes,
    lesson_requests,
    observations,
    repeated_wishes,
)
from ace.reflect.by_model import Judgement, ModelLessons, ReflectionProducer
from ace.reflect.by_rules import RuleFindings
from ace.repairs import record, supply
from ace.rules import applicability, causes, foreign_text
from ace.rules import evidence as spans
from ace.rules import lessons as rules
from ace.rules.evidence import Evidence
from ace.rules.foreign_text import TaskOrigins
from ace.rules.task import Task
from ace.rules.task_lesson import TaskLesson
from ace.traces import store as traces
from common.caller import Caller
from common.text import plain_text
from playbook.entries import neighbours
from playbook.entries.neighbours import Neighbour
from playbook.history.votes import Vote
from playbook.models import PlaybookEntry
from playbook.proposals.proposed_change import WISH_SIGNATURE
from projects.models import Project

# Limits of what an ACEResult shows; the Reflection keeps everything.
MAX_ERRORS = 20
LESSON_FIELDS = ("content", "category", "root_cause", "confidence", "producer")


def reflect(run: AceRun, caller: Caller) -> dict[str, Any]:
    """Reflect on the task of a run, unless its Reflection is already stored.

    The lessons are also written into the memory of the run if it is an episode.

    The returned part of the ACEResult comes from the stored Reflection. So every call
    returns the same lessons, and later calls do not ask the language model again.
    """
    credit_exposures.for_run(
        run,
        injected_entries=cited_entries.find(
            run.project, run.request, cited_entries.INJECTED
        ),
        cited_entries=cited_entries.find(run.project, run.request, cited_entries.CITED),
    )
    reflection = Reflection.objects.filter(run=run).first() or _create(run, caller)
    episode_lessons.write_lessons(run, reflection.lessons, caller)
    return _report(run.project, reflection)


def _create(run: AceRun, caller: Caller) -> Reflection:
    task = run.task
    repairs = record.store(run, task, caller)
    traces.store(run, task)
    entries = cited_entries.find(
        run.project, run.request, cited_entries.CITED, cited_entries.INJECTED
    )
    findings = _read_by_rules(run, task, entries)
    lesson_requests.store(run, task, findings, repairs)
    model_lessons = _without_wishes(
        by_model.reflect(run, task, findings, entries), findings
    )
    lessons = _lessons(task, findings, model_lessons)
    related = neighbours.find_related(run.project, _subject(task, lessons))
    reflection, _ = Reflection.objects.get_or_create(
        run=run,
        defaults={
            "project": run.project,
            "lessons": lessons,
            "votes": _votes(task, findings, model_lessons.judgements),
            "related": [_neighbour_json(near) for near in related],
            **_outcome(findings),
            **_columns(task, findings, model_lessons),
        },
    )
    return reflection


def _read_by_rules(
    run: AceRun, task: Task, entries: Sequence[PlaybookEntry]
) -> RuleFindings:
    """Reflect by the rules; add the wishes that last, or that an earlier run shows too."""
    cited = cited_entries.find(run.project, run.request, cited_entries.CITED)
    findings = by_rules.reflect(
        task, run.project, entries=entries, cited_ids={entry.pk for entry in cited}
    )
    observations.store(run, task, findings)
    findings = lasting_wishes.learn(task, findings)
    return repeated_wishes.learn(run, task, findings)


def _without_wishes(
    model_lessons: ModelLessons, findings: RuleFindings
) -> ModelLessons:
    """Drop the model's copies of a person's wishes, which are for that person's agents alone.

    A copy says the same, or quotes nothing but the sentence of the wish.
    """
    wishes = [
        lesson
        for lesson in findings.lessons
        if lesson.signature.startswith(WISH_SIGNATURE)
    ]
    kept = [
        lesson
        for lesson in model_lessons.lessons
        if not any(_is_copy(lesson, wish) for wish in wishes)
    ]
    return dataclasses.replace(model_lessons, lessons=tuple(kept))


def _is_copy(lesson: TaskLesson, wish: TaskLesson) -> bool:
    same = plain_text.similarity_hash(lesson.content)
    return same == plain_text.similarity_hash(wish.content) or all(
        any(
            span.field == said.field and span.start < said.end and said.start < span.end
            for said in wish.evidence
        )
        for span in lesson.evidence
    )


def _lessons(
    task: Task, findings: RuleFindings, model_lessons: ModelLessons
) -> list[dict[str, Any]]:
    """Return the lessons of the model, then the lessons of the rules.

    A lesson of the rules is left out if the model has a lesson with the same content.
    """
    known = {
        plain_text.similarity_hash(lesson.content) for lesson in model_lessons.lessons
    }
    others = [
        lesson
        for lesson in findings.lessons
        if plain_text.similarity_hash(lesson.content) not in known
    ]
    origins = foreign_text.find_origins(task)
    return [
        *(
            _lesson(task, lesson, model_lessons.producer, origins)
            for lesson in model_lessons.lessons
        ),
        *(_lesson(task, lesson, ReflectionProducer(), origins) for lesson in others),
    ]


def _lesson(
    task: Task, lesson: TaskLesson, producer: ReflectionProducer, origins: TaskOrigins
) -> dict[str, Any]:
    """Return the lesson as JSON, with the reasons for which a person must see it."""
    foreign = origins.describe(task, lesson.content, lesson.evidence)
    led = lesson.supply or supply.of_lesson(task, lesson.content)
    return {
        **dataclasses.asdict(lesson),
        "foreign": foreign,
        "supply": led,
        "applies_to": list(lesson.applies_to) or applicability.find(task, lesson),
        "evidence": [by_rules.to_json(task, span) for span in lesson.evidence],
        **dataclasses.asdict(producer),
    }


def _subject(task: Task, lessons: Sequence[Mapping[str, Any]]) -> str:
    """Return the text for which related entries are searched.

    This is the text of the lessons. Without lessons it is the goal, and without a goal
    it is the result.
    """
    text = " ".join(lesson["content"] for lesson in lessons)
    return text or task.goal or task.result


def _votes(
    task: Task, findings: RuleFindings, judgements: Sequence[Judgement]
) -> list[dict[str, Any]]:
    """Return the votes of the rules as JSON, each as the model's judgement changes it."""
    judged = {judgement.entry_id: judgement for judgement in judgements}
    return [
        _vote(task, findings, vote, judged.get(vote.entry_id))
        for vote in findings.votes
    ]


def _vote(
    task: Task, findings: RuleFindings, vote: Vote, judgement: Judgement | None
) -> dict[str, Any]:
    evidence = []
    if judgement and judgement.verdict != vote.kind:
        vote = judged_votes.change(vote, judgement.verdict, findings.outcome.value)
        evidence = [by_rules.to_json(task, judgement.quote)]
    return {
        "entry_id": str(vote.entry_id),
        "kind": vote.kind,
        "reason": vote.reason,
        "evidence": evidence,
    }


def _neighbour_json(near: Neighbour) -> dict[str, Any]:
    return {"entry_id": str(near.entry.pk), "similarity": near.similarity}


def _outcome(findings: RuleFindings) -> dict[str, Any]:
    return {
        "outcome": findings.outcome.value,
        "outcome_source": findings.outcome.source,
        "outcome_confidence": findings.outcome.confidence,
        "outcome_reason": findings.outcome.reason[:500],
    }


def _columns(
    task: Task, findings: RuleFindings, model_lessons: ModelLessons
) -> dict[str, Any]:
    lessons = [*model_lessons.lessons, *findings.lessons]
    error = next((span for span in findings.evidence if is_error(span)), None)
    return {
        "error_identification": model_lessons.error_identification
        or (error.message if error else ""),
        "root_cause": model_lessons.root_cause or findings.root_cause,
        "correct_approach": model_lessons.correct_approach
        or (lessons[0].action if lessons else ""),
        "key_insight": model_lessons.key_insight
        or (lessons[0].content if lessons else ""),
        "evidence": [by_rules.to_json(task, span) for span in findings.evidence],
        "insights": _insights(task, findings, model_lessons),
        "abstained": "" if model_lessons.lessons else findings.abstention[:500],
        "notes": list(model_lessons.notes),
        **dataclasses.asdict(model_lessons.producer),
    }


def _insights(
    task: Task, findings: RuleFindings, model_lessons: ModelLessons
) -> list[dict[str, Any]]:
    found = [*map(rules.to_insight, model_lessons.lessons), *findings.insights]
    return [
        {
            "insight_type": insight.insight_type,
            "content": insight.content,
            "confidence": insight.confidence,
            "evidence": [by_rules.to_json(task, span) for span in insight.evidence],
        }
        for insight in found
    ]


def _report(project: Project, reflection: Reflection) -> dict[str, Any]:
    """Return the keys of the ACEResult that come from the reflection."""
    return {
        "outcome": reflection.outcome,
        "outcome_source": reflection.outcome_source,
        "insights": reflection.insights,
        "errors": _errors(project, reflection.evidence),
        "related_playbook_entries": _entries(reflection.related),
        "lessons": [
            {name: lesson[name] for name in LESSON_FIELDS}
            for lesson in reflection.lessons
        ],
        "abstained": reflection.abstained or None,
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
    """Return each distinct error of a task once, in the order of the evidence.

    An error is {error_type, message, root_cause, evidence}.
    """
    stored = {by_rules.from_json(span): span for span in evidence}
    rows = by_rules.project_causes(project)
    distinct: dict[str, list[Evidence]] = {}
    for error in spans.group_by_error([span for span in stored if is_error(span)]):
        distinct.setdefault(error[0].signature, error)
    return [
        {
            "error_type": span.error_type or span.code or span.kind,
            "message": span.message,
            "root_cause": causes.root_cause([span, *others], rows),
            "evidence": [stored[span]],
        }
        for span, *others in list(distinct.values())[:MAX_ERRORS]
    ]


def is_error(span: Evidence) -> bool:
    return bool(span.error_type or span.code)
