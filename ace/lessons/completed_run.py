"""Complete the result of a run with what a model's reflection on it found."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ace.lessons.told_errors import REPORTED
from ace.models import AceRun, ModelReflection
from ace.reflector import INSIGHT_TYPES, LESSON_FIELDS
from common.db import write
from playbook.lessons.lesson import Kind


def mark_due(row: ModelReflection) -> dict[str, Any]:
    """Return what a result says of the reflection: its id, and whether it waits."""
    return {"id": str(row.pk), "state": row.state}


@write
def complete(row: ModelReflection) -> None:
    """Add the errors, lessons and proposals of the reflection to the result of its run.

    The result keeps its shape (REQ-MEM-API-001), and what the rules found stays.
    """
    if row.run_id is None:
        return
    run = AceRun.objects.select_for_update(no_key=True).get(pk=row.run_id)
    if run.result.get("reflection", {}).get("state") == row.state:
        return
    found = row.results
    lessons = [each for part in found for each in part["lessons"]]
    run.result = {
        **run.result,
        "reflection": mark_due(row),
        "errors": _errors(run.result.get("errors", []), found),
        "insights": [*run.result.get("insights", []), *map(_insight, lessons)],
        "lessons": [*run.result.get("lessons", []), *map(_lesson, lessons)],
        "playbook_delta": _delta(run.result.get("playbook_delta", {}), lessons),
    }
    run.save(update_fields=["result"])


def _errors(
    known: list[dict[str, Any]], found: list[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """Give known errors the cause that the model names, and add the others."""
    told = [error for part in found for error in part["errors"]]
    merged = []
    for error in known:
        cause = next(
            (each["root_cause"] for each in told if each["quote"] in error["message"]),
            "",
        )
        merged.append({**error, "root_cause": error["root_cause"] or cause})
    new = [e for e in told if not any(e["quote"] in k["message"] for k in known)]
    return [*merged, *map(_error, new)]


def _error(told: Mapping[str, str]) -> dict[str, Any]:
    return {
        "error_type": REPORTED,
        "message": told["quote"],
        "root_cause": told["root_cause"],
        "evidence": [],
    }


def _insight(lesson: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "insight_type": INSIGHT_TYPES[Kind(lesson["kind"])],
        "content": lesson["content"],
        "confidence": lesson["confidence"],
        "evidence": [],
    }


def _lesson(lesson: Mapping[str, Any]) -> dict[str, Any]:
    return {name: lesson[name] for name in LESSON_FIELDS}


def _delta(known: Mapping[str, Any], lessons: list[dict[str, Any]]) -> dict[str, Any]:
    added = [lesson["change"] for lesson in lessons if lesson["change"]]
    operations = [*known.get("operations", []), *added]
    return {**known, "operations": operations}
