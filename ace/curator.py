"""Run the curator, a phase of a run: propose deltas and votes from the reflection."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Sequence
from typing import Any

from ace.lessons import ended_work
from ace.lessons.occasion import occasion_of
from ace.models import AceRun, Reflection
from ace.repairs import supply
from ace.task import foreign
from ace.task.task import Task
from common.caller import Caller
from playbook.history.votes import Vote
from playbook.lessons import expiry, learn
from playbook.lessons.lesson import Lesson, TaughtLesson
from playbook.models import PlaybookChange, PlaybookDelta, PlaybookEntry


def curate(run: AceRun, caller: Caller) -> dict[str, Any]:
    """Pass the stored reflection to the playbook (REQ-MEM-ACE-003).

    A resumed run proposes the stored lessons, even if newer rules would find others.
    """
    reflection = Reflection.objects.get(run=run)
    lessons = [Lesson.from_json(lesson) for lesson in reflection.lessons]
    result = learn.learn(
        run.project,
        [TaughtLesson(lesson, warning=warn_of(run.task, lesson)) for lesson in lessons],
        [
            Vote(uuid.UUID(vote["entry_id"]), vote["kind"], vote["reason"])
            for vote in reflection.votes
        ],
        list(map(uuid.UUID, reflection.supported)),
        occasion_of(run, reflection.outcome),
        caller,
    )
    expiry.doubt_ended(
        run.project,
        ended_work.find(run.task),
        caller,
        run_id=run.pk,
        memory_id=run.memory_id,
    )
    return {
        "playbook_delta": {
            "operations": [describe_change(delta) for delta in result.deltas],
            "summary": summary(result.deltas, result.changes),
        },
        "updated_bullets": [_bullet(entry) for entry in result.updated_entries],
        "change_id": str(result.changes[-1].pk) if result.changes else None,
    }


def warn_of(task: Task, lesson: Lesson) -> str:
    """Return why a person must see the lesson: where its words or its command lead."""
    origins = foreign.find_origins(task)
    calls = [call for quote in lesson.quotes if (call := task.call(quote.field))]
    failed = [call for call in calls if call.has_failed]
    fixed = [call for call in calls if call.has_failed is False]
    led = supply.of_calls(failed[0], fixed[-1]) if failed and fixed else ""
    return (
        origins.describe(task, lesson.content, lesson.quotes)
        or led
        or supply.of_lesson(task, lesson.content)
    )


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
