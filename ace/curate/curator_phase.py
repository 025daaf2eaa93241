"""Run the curator, a phase of a run: propose deltas and votes from the reflection."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from ace.rules.task import Task
from ace.rules.tool_calls import foreign_output

from ace.models import AceRun, Reflection
from common.caller import Caller
from playbook.history.votes import Vote
from playbook.lessons import learn
from playbook.lessons.lesson import (
    Lesson,
    Occasion,
    Quote,
    SourceText,
    Speaker,
    TaughtLesson,
)
from playbook.models import PlaybookChange, PlaybookDelta, PlaybookEntry


def curate(run: AceRun, caller: Caller) -> dict[str, Any]:
    """Pass the stored reflection to the playbook (REQ-MEM-ACE-003).

    A resumed run proposes the stored lessons, even if newer rules would find other
    lessons.
    """
    reflection = Reflection.objects.get(run=run)
    task = run.task
    result = learn.learn(
        run.project,
        [TaughtLesson(_lesson(lesson)) for lesson in reflection.lessons],
        [_vote(vote) for vote in reflection.votes],
        [uuid.UUID(near["entry_id"]) for near in reflection.related],
        Occasion(
            id=run.pk,
            sources=_sources(run, task, reflection.lessons),
            run_id=run.pk,
            memory_id=run.memory_id,
            agent_id=run.agent_id,
            feedback_source=task.feedback_source,
            outcome=reflection.outcome,
        ),
        caller,
    )
    return {
        "playbook_delta": {
            "operations": [_operation(delta) for delta in result.deltas],
            "summary": summary(result.deltas, result.changes),
        },
        "updated_bullets": [_bullet(entry) for entry in result.updated_entries],
        "change_id": str(result.changes[-1].pk) if result.changes else None,
    }


def _lesson(lesson: Mapping[str, Any]) -> Lesson:
    return Lesson(
        content=lesson["content"],
        kind=_kind(lesson),
        quotes=tuple(
            Quote(span["quote"], span["field"], span["start"], span["end"])
            for span in lesson["evidence"]
        ),
        applies_to=tuple(lesson.get("applies_to", ())),
        category=lesson["category"],
        confidence=lesson["confidence"],
        producer=lesson["producer"],
        producer_name=lesson["producer_name"],
        producer_version=lesson["producer_version"],
    )


def _kind(lesson: Mapping[str, Any]) -> str:
    if lesson["action"].startswith("answer `"):
        return "answer"
    head = lesson["signature"].partition("|")[0]
    kinds = {"check": "check", "fact": "fact", "repair": "fix", "command": "fix"}
    return kinds.get(head, "instruction")


def _vote(vote: Mapping[str, Any]) -> Vote:
    return Vote(uuid.UUID(vote["entry_id"]), vote["kind"], vote["reason"])


def _sources(
    run: AceRun, task: Task, lessons: Sequence[Mapping[str, Any]]
) -> list[SourceText]:
    """Return the texts that the lessons quote, and who said them."""
    fields = {span["field"] for lesson in lessons for span in lesson["evidence"]}
    tellers = {
        "human": Speaker.PERSON,
        "test": Speaker.TEST,
        "environment": Speaker.TEST,
    }
    feedback = tellers.get(task.feedback_source, Speaker.AGENT)
    return [
        SourceText(
            "run",
            str(run.pk),
            field,
            task.text(field),
            _speaker_of_call(task, field)
            if field.startswith("tool_usage.")
            else feedback
            if field == "feedback"
            else Speaker.AGENT,
        )
        for field in fields
    ]


def _speaker_of_call(task: Task, field: str) -> Speaker:
    call = task.call(field)
    is_foreign = call and (
        call.is_foreign or foreign_output.is_foreign(call.tool_name, call.arguments)
    )
    return Speaker.FOREIGN if is_foreign else Speaker.CALL


def _operation(delta: PlaybookDelta) -> dict[str, Any]:
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
