"""Run the curator, a phase of a run: propose deltas and votes from the reflection."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from ace.curate import by_model
from ace.curate.by_model import ModelPlacements
from ace.models import AceRun, Reflection
from ace.rules.task import Task
from common.caller import Caller
from common.db import write
from playbook.history.votes import Vote
from playbook.learning import learn
from playbook.models import PlaybookChange, PlaybookDelta, PlaybookEntry
from playbook.proposals.proposed_change import Quote
from projects import model_access


def curate(run: AceRun, caller: Caller) -> dict[str, Any]:
    """Pass the stored reflection to the playbook (REQ-MEM-ACE-003).

    A resumed run proposes the stored lessons, even if newer rules would find other
    lessons.
    """
    reflection = _with_placements(run)
    task = run.task
    result = learn.learn_from_task(
        run.project,
        [_lesson(lesson) for lesson in reflection.lessons],
        [_vote(vote) for vote in reflection.votes],
        [uuid.UUID(near["entry_id"]) for near in reflection.related],
        run=learn.TaskRun(
            id=run.pk,
            memory=run.memory,
            outcome=reflection.outcome,
            feedback_source=task.feedback_source,  # type: ignore[arg-type]  # checked before
            agent_id=run.agent_id,
            sources=_sources(task, reflection.lessons),
        ),
        caller=caller,
    )
    return {
        "playbook_delta": {
            "operations": [_operation(delta) for delta in result.deltas],
            "summary": summary(result.deltas, result.changes),
        },
        "updated_bullets": [_bullet(entry) for entry in result.updated_entries],
        "change_id": str(result.changes[-1].pk) if result.changes else None,
    }


def _with_placements(run: AceRun) -> Reflection:
    """Return the reflection of the run with the model's choice for each lesson.

    The choices are stored before any change is proposed. So the model is asked only
    once, and a resumed run proposes the same changes.
    """
    reflection = Reflection.objects.get(run=run)
    is_known = all("placement" in lesson for lesson in reflection.lessons)
    if is_known or not model_access.is_enabled(run.project):
        return reflection
    return _store_placements(run, by_model.place(run, reflection.lessons))


@write
def _store_placements(run: AceRun, choices: ModelPlacements) -> Reflection:
    # Another process may have asked the model at the same time; the lock excludes it.
    reflection = Reflection.objects.select_for_update(no_key=True).get(run=run)
    if any("placement" not in lesson for lesson in reflection.lessons):
        reflection.lessons = [
            {**lesson, "placement": placement}
            for lesson, placement in zip(
                reflection.lessons, choices.placements, strict=True
            )
        ]
        reflection.notes = [*reflection.notes, *choices.notes]
        reflection.save(update_fields=["lessons", "notes"])
    return reflection


def _lesson(lesson: Mapping[str, Any]) -> learn.Lesson:
    return learn.Lesson(
        content=lesson["content"],
        category=lesson["category"],
        condition=lesson["condition"],
        action=lesson["action"],
        root_cause=lesson["root_cause"],
        signature=lesson["signature"],
        confidence=lesson["confidence"],
        reason=lesson.get("reason", ""),
        repair_key=lesson.get("repair_key", ""),
        supply=lesson.get("supply", ""),
        foreign=lesson.get("foreign", ""),
        applies_to=tuple(lesson.get("applies_to", ())),
        producer=lesson["producer"],
        producer_name=lesson["producer_name"],
        producer_version=lesson["producer_version"],
        placement=by_model.from_json(lesson.get("placement")),
        evidence=tuple(
            Quote(span["field"], span["start"], span["end"], span["quote"])
            for span in lesson["evidence"]
        ),
    )


def _vote(vote: Mapping[str, Any]) -> Vote:
    return Vote(uuid.UUID(vote["entry_id"]), vote["kind"], vote["reason"])


def _sources(task: Task, lessons: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Return {field: text} of the texts that the lessons quote."""
    fields = {span["field"] for lesson in lessons for span in lesson["evidence"]}
    return {field: task.text(field) for field in fields}


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
