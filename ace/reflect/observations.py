"""What runs showed without saying what to do, kept until a second run shows it too."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from django.db.models import Count, Q, QuerySet

from ace.models import AceRun, Observation
from ace.reflect.by_rules import RuleFindings
from ace.rules import evidence as spans
from ace.rules import unresolved_errors
from ace.rules.evidence import Evidence
from ace.rules.lessons import TaskLesson
from ace.rules.task import Task
from ace.rules.unresolved_errors import UnresolvedError
from common.db import write
from playbook.history import revision
from playbook.models import PlaybookDelta, PlaybookEntry
from playbook.proposals import proposed_change
from playbook.proposals.proposed_change import Operation, Producer, Proposal


@dataclass(frozen=True)
class ObservedError:
    """Trouble of a run; `mended_by` is the lesson that says what to do about it."""

    signature: str
    root_cause: str
    span: Evidence
    condition: str
    observed: str
    mended_by: str = ""


@dataclass(frozen=True)
class EarlierRuns:
    """The runs that showed the same earlier, of which a common error has thousands."""

    runs: int
    first_run: uuid.UUID
    is_mended: bool


def learn(run: AceRun, task: Task, read: RuleFindings) -> RuleFindings:
    """Keep what the run showed, and teach what an earlier run has shown as well.

    Only runs that were kept before this one count: of two at once exactly one teaches,
    and a run that is resumed says what it said.
    """
    shown = [*_unresolved_errors(read), *_resolved_errors(task, read)]
    earlier = _store(run, task, shown) if shown else {}
    known = _known_signatures(run, earlier)
    drawn = [
        lesson
        for sighting in read.sightings
        if sighting.signature not in known
        and (lesson := _lesson(task, read, sighting, earlier.get(sighting.signature)))
    ]
    if not drawn:
        return read
    return replace(read, lessons=[*read.lessons, *drawn], abstention="")


def superseded_by_fix(run: AceRun) -> list[Proposal]:
    """Retire what second sightings taught, now that this run shows the remedy."""
    mended = Observation.objects.filter(run=run, seen__has_key="mended_by")
    remedies = {f"seen|{row.signature}": row.seen["mended_by"] for row in mended}
    if not remedies:
        return []
    before = Observation.objects.filter(
        project=run.project, signature__in=[row.signature for row in mended]
    )
    taught = PlaybookDelta.objects.filter(
        project=run.project,
        run_id__in=before.values("run_id"),
        payload__signature__in=list(remedies),
        entry__status=PlaybookEntry.EntryStatus.ACTIVE,
    )
    deltas = taught.exclude(run_id=run.pk).select_related("entry").order_by("pk")
    found = {delta.entry_id: delta for delta in deltas}
    return [
        _retirement(run, delta, remedies[delta.payload["signature"]])
        for delta in found.values()
    ]


def _known_signatures(run: AceRun, earlier: Mapping[str, EarlierRuns]) -> set[str]:
    """What an active entry says already: that it came again is no vote for the entry."""
    often = [key for key, before in earlier.items() if before.runs > 1]
    if not often:
        return set()
    shown = Observation.objects.filter(project=run.project, signature__in=often)
    deltas = PlaybookDelta.objects.filter(
        project=run.project,
        run_id__in=shown.exclude(run=run).values("run_id"),
        payload__signature__in=[f"seen|{key}" for key in often],
        entry__status=PlaybookEntry.EntryStatus.ACTIVE,
    )
    found = deltas.values_list("payload__signature", flat=True)
    return {str(signature).removeprefix("seen|") for signature in found}


def _retirement(run: AceRun, delta: PlaybookDelta, remedy: str) -> Proposal:
    assert delta.entry
    return Proposal(
        operation=Operation.DEPRECATE,
        entry=delta.entry,
        expected_version=delta.entry.version,
        reason=f"A run shows what mends it: {remedy}"[:1000],
        producer=Producer.RULE,
        producer_name="reflector",
        agent_id=run.agent_id,
        run_id=run.pk,
        memory_id=run.memory_id,
        idempotency_key=proposed_change.entries_key(
            "reflector", Operation.DEPRECATE, [(delta.entry.pk, delta.entry.version)]
        ),
    )


def _unresolved_errors(read: RuleFindings) -> Iterator[ObservedError]:
    for seen in read.sightings:
        yield ObservedError(
            signature=seen.signature,
            root_cause=seen.root_cause,
            span=seen.evidence[0],
            condition=seen.condition,
            observed=seen.detail,
        )


def _resolved_errors(task: Task, read: RuleFindings) -> Iterator[ObservedError]:
    found: dict[str, ObservedError] = {}
    for lesson in read.lessons:
        for span in lesson.evidence:
            if span.error_type:
                key = unresolved_errors.observation_signature(task, span)
                found[key] = ObservedError(
                    signature=key,
                    root_cause=lesson.root_cause,
                    span=span,
                    condition=lesson.condition,
                    observed=spans.quote(task, span),
                    mended_by=lesson.content,
                )
    yield from found.values()


@write
def _store(
    run: AceRun, task: Task, shown: Sequence[ObservedError]
) -> Mapping[str, EarlierRuns]:
    """What earlier runs showed of the same trouble, by its signature."""
    # One run at a time: ids made under the lock are in the order of the writing.
    revision.lock_playbook(run.project)
    rows = [_row(run, task, each) for each in shown]
    Observation.objects.bulk_create(rows, ignore_conflicts=True)
    own = Observation.objects.filter(run=run).order_by("pk").first()
    assert own  # of this call, or of an earlier one by the same run
    same = Observation.objects.filter(
        project=run.project, signature__in=[row.signature for row in rows]
    )
    return _count_runs(same.filter(pk__lt=own.pk))


def _count_runs(rows: QuerySet[Observation]) -> Mapping[str, EarlierRuns]:
    firsts = rows.order_by("signature", "pk").distinct("signature")
    first_runs = dict(firsts.values_list("signature", "run_id"))
    counts = (
        rows.order_by()
        .values("signature")
        .annotate(
            runs=Count("pk"), mended=Count("pk", filter=Q(seen__has_key="mended_by"))
        )
    )
    return {
        row["signature"]: EarlierRuns(
            runs=row["runs"],
            first_run=first_runs[row["signature"]],
            is_mended=row["mended"] > 0,
        )
        for row in counts
    }


def _row(run: AceRun, task: Task, shown: ObservedError) -> Observation:
    seen = {
        "condition": shown.condition,
        "observed": shown.observed,
        "cause": shown.root_cause,
        "field": shown.span.field,
        "start": shown.span.start,
        "end": shown.span.end,
        "quote": spans.quote(task, shown.span),
    }
    if shown.mended_by:
        seen["mended_by"] = shown.mended_by
    return Observation(
        project=run.project,
        run=run,
        signature=shown.signature,
        root_cause=shown.root_cause,
        seen=seen,
    )


def _lesson(
    task: Task,
    read: RuleFindings,
    sighting: UnresolvedError,
    earlier: EarlierRuns | None,
) -> TaskLesson | None:
    """None when nobody saw it before, or somebody mended it: that lesson is better."""
    if earlier is None or earlier.is_mended:
        return None
    runs = earlier.runs + 1
    reason = f"Run {earlier.first_run} showed it before; {runs} runs have shown it."
    return unresolved_errors.to_lesson(task, sighting, read.outcome, reason)
