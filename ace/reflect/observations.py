"""Store the errors of runs; learn from each error that occurs in a second run."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from django.db.models import Count, Q, QuerySet

from access.restored_caller import caller_of
from ace.models import AceRun, Observation
from ace.reflect.by_rules import RuleFindings
from ace.rules import evidence as spans
from ace.rules import unresolved_errors
from ace.rules.evidence import Evidence
from ace.rules.task import Task
from ace.rules.task_lesson import TaskLesson
from ace.rules.unresolved_errors import UnresolvedError
from common.db import write
from memories.queries import as_visible_as
from playbook.history import revision
from playbook.models import PlaybookDelta, PlaybookEntry
from playbook.proposals import observed_lesson, proposed_change
from playbook.proposals.proposed_change import (
    OBSERVED_SIGNATURE,
    Operation,
    Producer,
    Proposal,
)

# Of an error, only the newest runs are read: a common one has thousands.
MAX_RUNS = 1_000


@dataclass(frozen=True)
class ObservedError:
    """An error of a run. `resolved_by` is the text of the lesson that resolves it."""

    signature: str
    root_cause: str
    span: Evidence
    condition: str
    detail: str
    resolved_by: str = ""


@dataclass(frozen=True)
class EarlierRuns:
    """What is known of the earlier runs with the same error.

    `runs` is the number of these runs, at most MAX_RUNS. `is_resolved` says whether one of
    the newest resolved the error. `detail` is what the first run of all observed.
    """

    runs: int
    first_run: uuid.UUID
    detail: str
    is_resolved: bool


def learn(run: AceRun, task: Task, findings: RuleFindings) -> RuleFindings:
    """Store the errors of the run; add a lesson for each error that an earlier run had.

    Only runs that were stored before this run count. So exactly one of two concurrent
    runs gets the lesson, and a resumed run gets the same lessons again.
    """
    errors = [*_unresolved_errors(findings), *_resolved_errors(task, findings)]
    earlier = _store(run, task, errors) if errors else {}
    known = _known_signatures(run, earlier)
    lessons = [
        lesson
        for error in findings.unresolved_errors
        if error.signature not in known
        and (lesson := _lesson(task, findings, error, earlier.get(error.signature)))
    ]
    if not lessons:
        return findings
    return replace(findings, lessons=[*findings.lessons, *lessons], abstention="")


def superseded_by_fix(run: AceRun) -> list[Proposal]:
    """Return proposals to retire the entries about errors that this run resolved."""
    resolved = Observation.objects.filter(run=run, seen__has_key="mended_by")
    remedies = {f"seen|{row.signature}": row.seen["mended_by"] for row in resolved}
    if not remedies:
        return []
    before = Observation.objects.filter(
        project=run.project, signature__in=[row.signature for row in resolved]
    )
    proposed = PlaybookDelta.objects.filter(
        project=run.project,
        run_id__in=before.values("run_id"),
        payload__signature__in=list(remedies),
        entry__status=PlaybookEntry.EntryStatus.ACTIVE,
    )
    deltas = proposed.exclude(run_id=run.pk).select_related("entry").order_by("pk")
    by_entry = {delta.entry_id: delta for delta in deltas}
    return [
        _retirement(run, delta, remedies[delta.payload["signature"]])
        for delta in by_entry.values()
    ]


def _known_signatures(run: AceRun, earlier: Mapping[str, EarlierRuns]) -> set[str]:
    """Return the signatures of errors for which an entry is active or a proposal waits.

    Such an error gets no new lesson, because a repeated error is not a vote for the
    entry, and another run may say the same in other words. What another person's agent
    wrote about it counts only when it is in force.
    """
    if not earlier:
        return set()
    by_rules = {f"seen|{key}": key for key in earlier}
    by_agents = {f"{OBSERVED_SIGNATURE}{key}": key for key in earlier}
    rows = Observation.objects.filter(project=run.project, signature__in=list(earlier))
    of_agents = Q(payload__signature__in=list(by_agents))
    deltas = PlaybookDelta.objects.filter(
        Q(payload__signature__in=list(by_rules))
        | of_agents & observed_lesson.match_settled(caller_of(run)),
        Q(entry__status=PlaybookEntry.EntryStatus.ACTIVE)
        | Q(status=PlaybookDelta.DeltaStatus.PENDING),
        project=run.project,
        run_id__in=rows.exclude(run=run).values("run_id"),
    )
    found = deltas.values_list("payload__signature", flat=True)
    names = by_rules | by_agents
    return {names[str(signature)] for signature in found}


def _retirement(run: AceRun, delta: PlaybookDelta, remedy: str) -> Proposal:
    assert delta.entry
    return Proposal(
        operation=Operation.DEPRECATE,
        entry=delta.entry,
        expected_version=delta.entry.version,
        reason=f"A run shows how to resolve it: {remedy}"[:1000],
        producer=Producer.RULE,
        producer_name="reflector",
        agent_id=run.agent_id,
        run_id=run.pk,
        memory_id=run.memory_id,
        idempotency_key=proposed_change.entries_key(
            "reflector", Operation.DEPRECATE, [(delta.entry.pk, delta.entry.version)]
        ),
    )


def _unresolved_errors(findings: RuleFindings) -> Iterator[ObservedError]:
    for error in findings.unresolved_errors:
        yield ObservedError(
            signature=error.signature,
            root_cause=error.root_cause,
            span=error.evidence[0],
            condition=error.condition,
            detail=error.detail,
        )


def _resolved_errors(task: Task, findings: RuleFindings) -> Iterator[ObservedError]:
    found: dict[str, ObservedError] = {}
    for lesson in findings.lessons:
        for span in lesson.evidence:
            if span.error_type:
                key = unresolved_errors.observation_signature(task, span)
                found[key] = ObservedError(
                    signature=key,
                    root_cause=lesson.root_cause,
                    span=span,
                    condition=lesson.condition,
                    detail=spans.quote(task, span),
                    resolved_by=lesson.content,
                )
    yield from found.values()


@write
def _store(
    run: AceRun, task: Task, errors: Sequence[ObservedError]
) -> Mapping[str, EarlierRuns]:
    """Store the errors of the run; return {signature: earlier runs with this error}."""
    # Only one run writes at a time, so the ids are in the order of the runs.
    revision.lock_playbook(run.project)
    rows = [_row(run, task, error) for error in errors]
    Observation.objects.bulk_create(rows, ignore_conflicts=True)
    own = Observation.objects.filter(run=run).order_by("pk").first()
    assert own  # stored by this call, or by an earlier call for the same run
    # The reason of a lesson names an earlier run, so only runs count that its readers see.
    same = Observation.objects.filter(
        as_visible_as(run.memory, "run__memory_id"),
        project=run.project,
        signature__in=[row.signature for row in rows],
    )
    before = same.filter(pk__lt=own.pk)
    return _count_runs(before, {row.signature for row in rows})


def _count_runs(
    rows: QuerySet[Observation], signatures: Collection[str]
) -> Mapping[str, EarlierRuns]:
    firsts = [rows.filter(signature=each).order_by("pk")[:1] for each in signatures]
    first = {row.signature: row for row in firsts[0].union(*firsts[1:], all=True)}
    counts = (
        newest_of_each(rows, signatures)
        .order_by()
        .values("signature")
        .annotate(
            runs=Count("pk"), mended=Count("pk", filter=Q(seen__has_key="mended_by"))
        )
    )
    return {
        row["signature"]: EarlierRuns(
            runs=row["runs"],
            first_run=first[row["signature"]].run_id,
            detail=first[row["signature"]].seen.get("observed", ""),
            is_resolved=row["mended"] > 0,
        )
        for row in counts
    }


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


def _row(run: AceRun, task: Task, error: ObservedError) -> Observation:
    seen = {
        "condition": error.condition,
        "observed": error.detail,
        "cause": error.root_cause,
        **spans.locate(task, error.span),
    }
    if error.resolved_by:
        seen["mended_by"] = error.resolved_by
    return Observation(
        project=run.project,
        run=run,
        signature=error.signature,
        root_cause=error.root_cause,
        seen=seen,
    )


def _lesson(
    task: Task,
    findings: RuleFindings,
    error: UnresolvedError,
    earlier: EarlierRuns | None,
) -> TaskLesson | None:
    """Return the lesson about an error that an earlier run had too.

    Return None if no earlier run had the error, or if an earlier run resolved it.
    """
    if earlier is None or earlier.is_resolved:
        return None
    is_cut = earlier.runs == MAX_RUNS
    runs = f"more than {MAX_RUNS:,}" if is_cut else str(earlier.runs + 1)
    reason = f"Run {earlier.first_run} showed it before; {runs} runs have shown it."
    return unresolved_errors.to_lesson(
        task, error, findings.outcome, earlier_detail=earlier.detail, reason=reason
    )
