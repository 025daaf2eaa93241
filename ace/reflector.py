"""Run the reflector, a phase of a run: store one Reflection and report from it."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from ace import credit, named_rules
from ace.lessons import (
    answers,
    episode_lessons,
    from_rules,
    own_words,
    related_rules,
    told_errors,
)
from ace.lessons.told_errors import TaskError, quote_json
from ace.models import AceRun, Reflection
from ace.repairs import record
from ace.task.task import Task
from ace.task.task_outcome import TaskOutcome
from ace.traces import store as traces
from common.caller import Caller
from common.text import literals
from playbook.history.votes import Vote
from playbook.lessons.lesson import Kind, Lesson
from playbook.models import PlaybookEntry

LESSON_FIELDS = (
    "content",
    "kind",
    "category",
    "applies_to",
    "confidence",
    "producer",
)
# What kind of insight a lesson is (REQ-MEM-ACE-002).
INSIGHT_TYPES = {
    Kind.FIX: "gotcha",
    Kind.CHECK: "best_practice",
    Kind.INSTRUCTION: "best_practice",
    Kind.PREFERENCE: "best_practice",
    Kind.DECISION: "pattern",
    Kind.PROCEDURE: "pattern",
    Kind.ANSWER: "pattern",
    Kind.FACT: "observation",
}
OF_ERROR, OF_ADVICE = 0.5, 0.5  # the confidence of an insight
NO_LESSON = "nothing in the task names an action to take"


def reflect(run: AceRun, caller: Caller) -> dict[str, Any]:
    """Reflect on the task of a run, unless its Reflection is already stored (REQ-MEM-ACE-002).

    The lessons are also written into the memory of the run if it is an episode. The returned
    part of the ACEResult comes from the stored Reflection, so that every call returns the same.
    """
    credit.give_credit(run)
    reflection = Reflection.objects.filter(run=run).first() or _create(run, caller)
    episode_lessons.write_lessons(run, reflection.lessons, caller)
    return _report(reflection)


def _create(run: AceRun, caller: Caller) -> Reflection:
    task = run.task
    record.store(run, task, caller)
    traces.store(run)
    outcome = run.analysis.outcome
    phrases = run.project.options.lasting_phrases
    lessons = [
        *own_words.read(run.request),
        *from_rules.teach(task, outcome, phrases),
    ]
    errors = told_errors.find(task, outcome)
    related = related_rules.find(run, outcome, lessons)
    reflection, _ = Reflection.objects.get_or_create(
        run=run,
        defaults={
            "project": run.project,
            "outcome": outcome.value,
            "outcome_source": outcome.source,
            "outcome_confidence": outcome.confidence,
            "outcome_reason": outcome.reason[:500],
            "errors": [error.to_json() for error in errors],
            "insights": _insights(task, lessons, errors),
            "lessons": [lesson.to_json() for lesson in lessons],
            "votes": [_vote_json(vote) for vote in _votes(run, outcome, errors)],
            "related": [
                {"entry_id": str(pk), "similarity": cosine}
                for pk, cosine in related.cosines.items()
            ],
            "supported": list(map(str, related.supported)),
            "abstained": "" if lessons else NO_LESSON,
        },
    )
    return reflection


def _insights(
    task: Task, lessons: Iterable[Lesson], errors: Iterable[TaskError]
) -> list[dict[str, Any]]:
    """Return the lessons, the errors, and what the feedback says of the next time."""
    found = [
        (INSIGHT_TYPES[Kind(each.kind)], each.content, each.confidence, each.quotes)
        for each in lessons
    ]
    found += [("error", each.message, OF_ERROR, each.evidence) for each in errors]
    found += [
        ("best_practice", quote.quote, OF_ADVICE, (quote,))
        for quote in told_errors.find_advice(task)
    ]
    distinct = {content: each for each in reversed(found) if (content := each[1])}
    return [
        {
            "insight_type": kind,
            "content": content,
            "confidence": confidence,
            "evidence": [quote_json(quote) for quote in quotes],
        }
        for kind, content, confidence, quotes in reversed(distinct.values())
    ]


def _votes(
    run: AceRun, outcome: TaskOutcome, errors: Sequence[TaskError]
) -> list[Vote]:
    """Return a vote on each entry that the agent was given or that it cited.

    Return no votes if the outcome is unknown.
    """
    if outcome.value == "unknown":
        return []
    names = (named_rules.CITED, named_rules.INJECTED)
    cited = {
        entry.pk
        for entry in named_rules.find(run.project, run.request, named_rules.CITED)
    }
    return [
        _vote(run.task, outcome, errors, entry, is_cited=entry.pk in cited)
        for entry in named_rules.find(run.project, run.request, *names)
    ]


def _vote(
    task: Task,
    outcome: TaskOutcome,
    errors: Sequence[TaskError],
    entry: PlaybookEntry,
    *,
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
    task: Task, entry: PlaybookEntry, errors: Sequence[TaskError]
) -> bool:
    """Return whether the entry is about what went wrong.

    The entry contains the wrong answer, or names a tool that failed or an identifier of an
    error.
    """
    wrong = answers.wrong_answer(task)
    if wrong and wrong in literals.find_literals(entry.action or entry.content):
        return True
    names = {word.lower() for word in literals.find_identifiers(entry.content)}
    words = {word.lower() for word in entry.content.split()}
    for quote in (quote for error in errors for quote in error.evidence):
        call = task.call(quote.field)
        tool = call.tool_name.lower() if call else ""
        found = {word.lower() for word in literals.find_identifiers(quote.quote)}
        if names & found or tool in words | names:
            return True
    return False


def _vote_json(vote: Vote) -> dict[str, Any]:
    return {**asdict(vote), "entry_id": str(vote.entry_id)}


def _report(reflection: Reflection) -> dict[str, Any]:
    """Return the keys of the ACEResult that come from the reflection."""
    return {
        "outcome": reflection.outcome,
        "outcome_source": reflection.outcome_source,
        "insights": reflection.insights,
        "errors": reflection.errors,
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
