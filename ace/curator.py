"""Run the curator, a phase of a run: propose deltas and votes from the reflection."""

from __future__ import annotations

import re
import uuid
from collections import Counter
from collections.abc import Sequence
from typing import Any

from ace.lessons import said
from ace.lessons.occasion import occasion_of
from ace.models import AceRun, Reflection
from ace.repairs import supply
from ace.rules import foreign_text
from ace.rules.task import Task
from common.caller import Caller
from common.text import plain_text
from playbook.history.votes import Vote
from playbook.learning import learn
from playbook.lessons.lesson import Kind, Lesson, Occasion, Producer
from playbook.lessons.lesson import Quote as LessonQuote
from playbook.models import PlaybookChange, PlaybookDelta, PlaybookEntry
from playbook.proposals.proposed_change import (
    ADVICE_SIGNATURE,
    LASTING_SIGNATURE,
    Quote,
)


def curate(run: AceRun, caller: Caller) -> dict[str, Any]:
    """Pass the stored reflection to the playbook (REQ-MEM-ACE-003).

    A resumed run proposes the stored lessons, even if newer rules would find others.
    """
    reflection = Reflection.objects.get(run=run)
    occasion = occasion_of(run, reflection.outcome)
    lessons = [Lesson.from_json(lesson) for lesson in reflection.lessons]
    result = learn.learn_from_task(
        run.project,
        [found for lesson in lessons if (found := _convert(run, lesson, occasion))],
        [
            Vote(uuid.UUID(vote["entry_id"]), vote["kind"], vote["reason"])
            for vote in reflection.votes
        ],
        list(map(uuid.UUID, reflection.supported)),
        run=learn.TaskRun(
            id=run.pk,
            memory=run.memory,
            outcome=occasion.outcome,
            feedback_source=occasion.feedback_source,  # type: ignore[arg-type]  # checked before
            agent_id=occasion.agent_id,
            sources={source.field: source.text for source in occasion.sources},
        ),
        caller=caller,
    )
    return {
        "playbook_delta": {
            "operations": [describe_change(delta) for delta in result.deltas],
            "summary": summary(result.deltas, result.changes),
        },
        "updated_bullets": [_bullet(entry) for entry in result.updated_entries],
        "change_id": str(result.changes[-1].pk) if result.changes else None,
    }


_ANSWER = re.compile(r"When asked (?P<condition>.+), (?P<action>answer `[^`\n]+`)\.\Z")


def _convert(run: AceRun, lesson: Lesson, occasion: Occasion) -> learn.Lesson | None:
    """Return the lesson as today's playbook takes it; None if no quote is found."""
    quotes = [found for quote in lesson.quotes if (found := _locate(quote, occasion))]
    if not quotes:
        return None
    answer = _ANSWER.fullmatch(lesson.content) if lesson.kind == Kind.ANSWER else None
    is_fix = lesson.kind == Kind.FIX
    return learn.Lesson(
        content=lesson.content,
        category=lesson.category,
        condition=answer["condition"] if answer else "",
        action=answer["action"] if answer else "",
        signature=_signature(lesson, occasion),
        confidence=lesson.confidence,
        repair_key=plain_text.similarity_hash(lesson.content) if is_fix else "",
        supply=_supply(run.task, lesson),
        foreign=foreign_text.find_origins(run.task).describe(
            run.task, lesson.content, [LessonQuote(q.quote, q.field) for q in quotes]
        ),
        applies_to=lesson.applies_to,
        producer="rule" if lesson.producer == Producer.RULE else "model",
        producer_name=lesson.producer_name or "reflector",
        evidence=tuple(quotes),
    )


def _supply(task: Task, lesson: Lesson) -> str:
    calls = [call for quote in lesson.quotes if (call := task.call(quote.field))]
    failed = [call for call in calls if call.has_failed]
    fixed = [call for call in calls if call.has_failed is False]
    if lesson.kind == Kind.FIX and failed and fixed:
        return supply.of_calls(failed[0], fixed[-1])
    return supply.of_lesson(task, lesson.content)


def _signature(lesson: Lesson, occasion: Occasion) -> str:
    if lesson.kind != Kind.INSTRUCTION or lesson.producer != Producer.RULE:
        return ""
    is_rule = occasion.feedback_source == "human" and lesson.confidence == said.LASTS
    return ADVICE_SIGNATURE if is_rule else LASTING_SIGNATURE


def _locate(quote: LessonQuote, occasion: Occasion) -> Quote | None:
    for source in occasion.sources:
        if quote.end and source.field != quote.field:
            continue
        start = source.text.find(quote.quote, quote.start)
        if quote.quote and start >= 0:
            return Quote(source.field, start, start + len(quote.quote), quote.quote)
    return None


def describe_change(delta: PlaybookDelta) -> dict[str, Any]:
    """Return a proposal as an ACEResult shows it."""
    return {
        "delta_id": str(delta.pk),
        "operation": delta.operation,
        "status": delta.status,
        "entry_id": str(delta.entry_id) if delta.entry_id else None,
        "entry_label": delta.entry.label if delta.entry else None,
        # Agents read this answer, and they must not see quarantined content.
        "content": "" if delta.risk == "quarantine" else delta.content,
        "reason": delta.reason,
    }


def _bullet(entry: PlaybookEntry) -> dict[str, Any]:
    return {
        "id": str(entry.pk),
        "label": entry.label,
        "content": entry.content,
        "category": entry.category,
        "helpful": entry.helpful,
        "harmful": entry.harmful,
    }


def summary(deltas: Sequence[PlaybookDelta], changes: Sequence[PlaybookChange]) -> str:
    """Return a summary for people: "1 add applied, 2 add pending; 3 votes, 1 support"."""
    proposed = Counter(f"{delta.operation} {delta.status}" for delta in deltas)
    counted = Counter(
        change.action for change in changes if change.action in ("vote", "support")
    )
    parts = [
        ", ".join(f"{n} {what}" for what, n in sorted(counter.items()))
        for counter in (proposed, counted)
        if counter
    ]
    return "; ".join(parts) or "nothing changed"
