"""Store the errors of runs, so that a later run with the same error is recognized."""

from __future__ import annotations

from collections.abc import Collection

from django.db.models import QuerySet

from ace.models import AceRun, Observation
from ace.reflect.by_rules import RuleFindings
from ace.rules import evidence as spans
from ace.rules import unresolved_errors
from ace.rules.evidence import Evidence
from ace.rules.task import Task
from common.db import write

# Of an error, only the newest runs are read: a common one has thousands.
MAX_RUNS = 1_000


def store(run: AceRun, task: Task, findings: RuleFindings) -> None:
    """Store the errors of a run, with a lesson or without; a second call stores nothing new."""
    rows = {
        error.signature: _row(run, task, error.signature, error.root_cause, error.span)
        for error in findings.unresolved_errors
    }
    for lesson in findings.lessons:
        for span in lesson.evidence:
            if span.error_type:
                key = unresolved_errors.observation_signature(task, span)
                rows[key] = _row(run, task, key, lesson.root_cause, span)
    if rows:
        _insert(list(rows.values()))


def newest_of_each(
    rows: QuerySet[Observation], signatures: Collection[str]
) -> QuerySet[Observation]:
    """Select the rows of the newest MAX_RUNS runs of each error."""
    newest = [
        rows.filter(signature=each)
        .order_by("-pk")
        .values_list("pk", flat=True)[:MAX_RUNS]
        for each in signatures
    ]
    ids = newest[0].union(*newest[1:], all=True) if newest else ()
    found: QuerySet[Observation] = Observation.objects.filter(pk__in=ids)
    return found


def _row(
    run: AceRun, task: Task, signature: str, root_cause: str, span: Evidence
) -> Observation:
    return Observation(
        project=run.project,
        run=run,
        signature=signature,
        root_cause=root_cause,
        seen=spans.locate(task, span),
    )


@write
def _insert(rows: list[Observation]) -> None:
    Observation.objects.bulk_create(rows, ignore_conflicts=True)
