"""Recognize a lesson that a person rejected before, or that already waits.

Runs bring the same lesson again and again, but the inbox shows the lesson only once. A
rejected lesson returns to the inbox after it recurs `REPEATS_TO_RETURN` times. A lesson
that repeats a retired entry is not applied without a person.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from django.db.models import F, Q

from common.caller import Caller
from common.text import same_text
from memories.models import Memory
from memories.queries import as_visible_as
from playbook.delta_vectors import KNOWN_LESSONS, LESSON_OPERATIONS
from playbook.entries import matches
from playbook.entries.neighbours import MAX_NEIGHBOURS, MERGE_COSINE
from playbook.models import PlaybookDelta
from playbook.proposals import witnesses
from playbook.proposals.policy import Decision
from playbook.proposals.proposed_change import Operation, PreparedProposal, Proposal
from playbook.queries import REFUSED_BY_PERSON, DeltaQuerySet
from projects.models import Project
from search import semantic

Status = PlaybookDelta.DeltaStatus
# Repeats after which a rejected lesson returns to the inbox.
REPEATS_TO_RETURN = 5


def reconsider(
    project: Project, item: PreparedProposal, decision: Decision, caller: Caller
) -> Decision:
    """Change the decision about a lesson that recurs.

    The decisions about other proposals stay. The caller holds the playbook's lock, so
    that each recurrence is counted once.
    """
    # The placement turned the lesson into a vote, because an entry already says the
    # lesson.
    is_known = item.proposal.operation == Operation.VOTE
    if not _is_lesson(item.original) or is_known or decision.status == Status.REJECTED:
        return decision
    decision = _hold_retired(project, item, decision)
    earlier = list(_earlier_deltas(project, item))
    if confirmation := _confirmation(project, item, decision, caller, earlier):
        return confirmation
    first = next((delta for delta in earlier if delta.status == Status.REJECTED), None)
    if first is None and decision.status != Status.PENDING:
        return _hold_near_rejected(project, item, decision)
    waiting = next((delta for delta in earlier if delta.status == Status.PENDING), None)
    if waiting and item.original.run_id:
        _count_repeat(waiting, item.original)
        note = f"The same lesson waits already, as delta {waiting.pk}."
        return replace(
            decision, status=Status.REJECTED, reason=note, repeats=waiting.pk
        )
    return _decide_repeat(first, item.original, decision) if first else decision


def _confirmation(
    project: Project,
    item: PreparedProposal,
    decision: Decision,
    caller: Caller,
    earlier: Sequence[PlaybookDelta],
) -> Decision | None:
    """Return the decision about a repair that another person's waiting delta shows too.

    A person's rejection and a retired entry keep their force.
    """
    if not decision.needs_witness or any(d.status == Status.REJECTED for d in earlier):
        return None
    waiting = witnesses.find_waiting(project, item.original, caller)
    applied = replace(decision, status=Status.APPLIED)
    is_held = any(
        hold(project, item, applied) != applied
        for hold in (_hold_retired, _hold_near_rejected)
    )
    if waiting is None or is_held:
        return None
    note = f"It confirms delta {waiting.pk}, which shows the same repair."
    return Decision(
        Status.REJECTED, decision.risk, note, repeats=waiting.pk, confirms=waiting.pk
    )


def _hold_retired(
    project: Project, item: PreparedProposal, decision: Decision
) -> Decision:
    proposal = item.proposal
    if decision.status != Status.APPLIED or proposal.operation != Operation.ADD:
        return decision
    entry = matches.find_retired(
        project.pk,
        proposal.content or "",
        item.vector,
        action=proposal.action or "",
    )
    if entry is None:
        return decision
    note = (
        f"{entry.label} said this, or nearly this, and is {entry.status}; restore it, or "
        "reject this."
    )
    return replace(decision, status=Status.PENDING, reason=note)


def _decide_repeat(
    first: PlaybookDelta, proposal: Proposal, decision: Decision
) -> Decision:
    if _count_repeat(first, proposal) < REPEATS_TO_RETURN:
        note = f"A person rejected this before, as delta {first.pk}."
        return replace(decision, status=Status.REJECTED, reason=note, repeats=first.pk)
    PlaybookDelta.objects.filter(pk=first.pk).update(seen_again=0)
    note = (
        f"A person rejected this before, as delta {first.pk}; "
        f"it recurred {REPEATS_TO_RETURN} times since."
    )
    return replace(decision, status=Status.PENDING, reason=note, repeats=first.pk)


def _count_repeat(first: PlaybookDelta, proposal: Proposal) -> int:
    """Count a recurrence at most once for each run, and return the new count."""
    same_run = PlaybookDelta.objects.filter(
        run_id=proposal.run_id, payload__repeats=str(first.pk)
    )
    if proposal.run_id and same_run.exists():
        return first.seen_again
    rows = PlaybookDelta.objects.filter(pk=first.pk)
    rows.update(seen_again=F("seen_again") + 1)
    return first.seen_again + 1


def _is_lesson(proposal: Proposal) -> bool:
    return (
        not (proposal.is_by_person or proposal.origin)
        and proposal.operation in LESSON_OPERATIONS
        and bool(proposal.content)
    )


def _scope_of(proposal: Proposal) -> Memory | None:
    rows = Memory.objects.only("scope_kind", "scope_key", "scope_user")
    memory: Memory | None = rows.filter(pk=proposal.memory_id).first()
    return memory


def _earlier_deltas(
    project: Project, item: PreparedProposal
) -> Iterator[PlaybookDelta]:
    """Yield deltas with the same text, newest first, then with its words, nearest first."""
    rows = _lessons_of_readers(project, item)
    for status in (REFUSED_BY_PERSON, Q(status=Status.PENDING)):
        yield from rows.filter(status, similarity_hash=item.hash).order_by("-pk")[:1]
    for delta in _near_deltas(rows, item):
        if same_text.is_same(delta.content, item.original.content or ""):
            yield delta


def _hold_near_rejected(
    project: Project, item: PreparedProposal, decision: Decision
) -> Decision:
    """Let a lesson wait that is near a rejected one: it may say the same, or the opposite."""
    if decision.status != Status.APPLIED:
        return decision
    rows = _lessons_of_readers(project, item).filter(REFUSED_BY_PERSON)
    first = next(iter(_near_deltas(rows, item)), None)
    if first is None:
        return decision
    note = f"A person rejected a lesson that is near, as delta {first.pk}."
    return replace(decision, status=Status.PENDING, reason=note)


def _lessons_of_readers(project: Project, item: PreparedProposal) -> DeltaQuerySet:
    """Return the lessons that the readers of this one see, as its decision names them."""
    memory = _scope_of(item.original)
    rows: DeltaQuerySet = PlaybookDelta.objects.filter(
        as_visible_as(memory, "memory_id"),
        project=project,
        operation__in=LESSON_OPERATIONS,
    )
    return rows


def _near_deltas(rows: DeltaQuerySet, item: PreparedProposal) -> list[PlaybookDelta]:
    if not item.vector:
        return []
    lane = semantic.exact_cosines(rows.filter(KNOWN_LESSONS), item.vector)
    near = [pk for pk, cosine in lane.items() if cosine >= MERGE_COSINE]
    deltas = PlaybookDelta.objects.in_bulk(near[:MAX_NEIGHBOURS])
    return [deltas[pk] for pk in near[:MAX_NEIGHBOURS]]
