"""Ask the agent for a lesson about what the rules could not put into words.

An agent is itself a language model. Code chooses at most three observations of its task; the
agent may answer each with one lesson (`ace.reflect.observed_evidence`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any

from django.db.models import QuerySet

from access.restored_caller import caller_of
from ace.models import AceRun, Observation
from ace.reflect import observations
from ace.reflect.by_rules import RuleFindings
from ace.repairs.cures import TaskRepair
from ace.rules import evidence as spans
from ace.rules import lesson_gaps
from ace.rules.lesson_gaps import GapKind, LessonGap
from ace.rules.task import Task
from common.db import write
from memories.queries import as_visible_as
from playbook.proposals import observed_lesson

MAX_REQUESTS = 3
# The key of `Observation.seen` with {kind, evidence}: all that the answer may rest on.
KEY = "request"
# The kinds, the most wanted first.
_ASKS = {
    GapKind.CORRECTION: "A person corrected this. Say in one sentence what to do in such a "
    "case from now on",
    GapKind.REPEATED_ERROR: "This failed before, and will again. Say in one sentence how to "
    "avoid it",
    GapKind.REPAIR: "This failed, and then another call worked. Say in one sentence what to "
    "do when",
    GapKind.FAILED_CALL: "This failed. If you know why, say in one sentence what to do "
    "instead",
}
_HOW = ", with no name, path, number or quoted word that the quotes do not have, and send it as "
TO_REST = "`content` with this `observation_id` to POST /playbook/deltas."


def store(
    run: AceRun, task: Task, findings: RuleFindings, repairs: Iterable[TaskRepair]
) -> None:
    """Store the observations of the run about which its agent is asked."""
    gaps = {
        gap.signature: gap
        for gap in lesson_gaps.find(
            task,
            findings.outcome,
            findings.evidence,
            findings.lessons,
            findings.unresolved_errors,
            repairs,
        )
    }
    if not gaps:
        return
    answered = _find_answered(run, gaps)
    open_gaps = [gap for gap in gaps.values() if gap.signature not in answered]
    failures = [gap for gap in open_gaps if gap.kind is not GapKind.CORRECTION]
    repeated = _find_repeated(run, [gap.signature for gap in failures])
    open_gaps.sort(key=lambda gap: _rank(gap, repeated))
    _insert([_row(run, task, gap, repeated) for gap in open_gaps[:MAX_REQUESTS]])


def find_open(run: AceRun, answer_to: str = TO_REST) -> list[dict[str, Any]]:
    """Return what the agent is asked: {observation_id, kind, evidence, ask} each.

    An observation that has its lesson is left out. `answer_to` ends the sentence that says
    how the lesson is sent.
    """
    rows = _rows_of(run)
    if not rows:
        return []
    answered = observed_lesson.find_answered([run.pk], [row.signature for row in rows])
    return [
        {
            "observation_id": str(row.pk),
            **row.seen[KEY],
            "ask": _ASKS[GapKind(row.seen[KEY]["kind"])] + _HOW + answer_to,
        }
        for row in rows
        if row.signature not in answered
    ]


def result_of(run: AceRun) -> dict[str, Any]:
    """Return the ACEResult of a run with what the agent is asked."""
    return {**run.ace_result, "reflect": find_open(run)}


def _rows_of(run: AceRun) -> list[Observation]:
    rows = Observation.objects.filter(run=run, seen__has_key=KEY).order_by("pk")
    order = list(_ASKS)
    return sorted(rows, key=lambda row: order.index(row.seen[KEY]["kind"]))


def _find_answered(run: AceRun, signatures: Collection[str]) -> set[str]:
    """Return the signatures about which a lesson of an earlier run is known.

    An error that came back so often since its lesson is asked about again.
    """
    newest = observations.newest_of_each(_earlier(run, signatures), signatures)
    asked = newest.values("run_id")
    return observed_lesson.find_settled(asked, signatures, caller_of(run))


def _find_repeated(run: AceRun, signatures: Collection[str]) -> set[str]:
    """Return the signatures of the errors that an earlier run had too."""
    # One row of each is enough: a common error has a row per run.
    one_each = [
        _earlier(run, [each]).order_by().values_list("signature", flat=True)[:1]
        for each in signatures
    ]
    return set(one_each[0].union(*one_each[1:], all=True)) if one_each else set()


def _earlier(run: AceRun, signatures: Iterable[str]) -> QuerySet[Observation]:
    rows: QuerySet[Observation] = Observation.objects.filter(
        as_visible_as(run.memory, "run__memory_id"),
        project=run.project,
        signature__in=list(signatures),
    ).exclude(run=run)
    return rows


def _rank(gap: LessonGap, repeated: Collection[str]) -> tuple[bool, bool, bool]:
    """Sort what people had to say first, then what comes back, then what has a cure."""
    comes_back = gap.kind is GapKind.REPEATED_ERROR or gap.signature in repeated
    return (
        gap.kind is not GapKind.CORRECTION,
        not comes_back,
        gap.kind is not GapKind.REPAIR,
    )


def _row(
    run: AceRun, task: Task, gap: LessonGap, repeated: Collection[str]
) -> Observation:
    quotes = [spans.locate(task, span) for span in gap.evidence]
    is_repeated = gap.kind is GapKind.FAILED_CALL and gap.signature in repeated
    kind = GapKind.REPEATED_ERROR if is_repeated else gap.kind
    return Observation(
        project=run.project,
        run=run,
        signature=gap.signature,
        root_cause=gap.root_cause,
        seen={**quotes[0], KEY: {"kind": kind.value, "evidence": quotes}},
    )


@write
def _insert(rows: Sequence[Observation]) -> None:
    # An error has its row already (`ace.reflect.observations`).
    Observation.objects.bulk_create(
        rows,
        update_conflicts=True,
        unique_fields=["project", "signature", "run"],
        update_fields=["seen"],
    )
