"""Lessons that were met before: a person rejected them, or they wait for one.

A run brings the same lesson again and again. The inbox shows it once, and what was
rejected comes back to it only after it was met `AGAIN` times more. What an entry said
that was retired does not come back to the playbook by itself.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.db.models import Exists, F, OuterRef, Q, QuerySet

from common.text.contradiction import disagreement
from inference.embedding import active_model, reembed, row_vectors
from inference.embedding.vector import Vector
from jobs import queue, runner
from playbook import neighbours
from playbook.deciding import Decision
from playbook.drafts import Item, Operation, Proposal
from playbook.models import DeltaVector, PlaybookDelta
from playbook.neighbours import LOOKED_AT, MERGE
from projects.models import Project
from search import semantic

Status = PlaybookDelta.Status
# A rejected lesson is back in the inbox when it was met so many times more.
AGAIN = 5
LESSONS = (Operation.ADD, Operation.UPDATE)
REFUSED = Q(status=Status.REJECTED) & ~Q(reviewer="")
KNOWN = REFUSED | Q(status=Status.PENDING)


def reconsidered(project: Project, item: Item, decision: Decision) -> Decision:
    """What becomes of a lesson that was met before; others keep their decision.

    Called under the playbook's lock, so that each meeting is counted once.
    """
    is_known = item.proposal.operation == Operation.VOTE  # an entry says it by now
    if not _is_lesson(item.asked) or is_known or decision.status == Status.REJECTED:
        return decision
    decision = _of_retired(project, item, decision)
    met = list(_met(project, item))
    first = next((delta for delta in met if delta.status == Status.REJECTED), None)
    if first is None and decision.status != Status.PENDING:
        return decision
    twin = next((delta for delta in met if delta.status == Status.PENDING), None)
    if twin and item.asked.run_id:
        _meet_again(twin, item.asked)
        note = f"The same lesson waits already, as delta {twin.pk}."
        return replace(decision, status=Status.REJECTED, reason=note, repeats=twin.pk)
    return _again(first, item.asked, decision) if first else decision


def _of_retired(project: Project, item: Item, decision: Decision) -> Decision:
    proposal = item.proposal
    if decision.status != Status.APPLIED or proposal.operation != Operation.ADD:
        return decision
    entry = neighbours.retired(
        project.pk,
        proposal.content or "",
        item.vector,
        condition=proposal.condition or "",
        action=proposal.action or "",
    )
    if entry is None:
        return decision
    note = f"{entry.label} said this and is {entry.status}; restore it, or reject this."
    return replace(decision, status=Status.PENDING, reason=note)


def _again(first: PlaybookDelta, proposal: Proposal, decision: Decision) -> Decision:
    if _meet_again(first, proposal) < AGAIN:
        note = f"A person rejected this before, as delta {first.pk}."
        return replace(decision, status=Status.REJECTED, reason=note, repeats=first.pk)
    PlaybookDelta.objects.filter(pk=first.pk).update(seen_again=0)
    note = (
        f"A person rejected this before, as delta {first.pk}; "
        f"it was met {AGAIN} times since."
    )
    return replace(decision, status=Status.PENDING, reason=note, repeats=first.pk)


def _meet_again(first: PlaybookDelta, proposal: Proposal) -> int:
    """Count a meeting, once for each run; how many there are now."""
    counted = PlaybookDelta.objects.filter(
        run_id=proposal.run_id, payload__repeats=str(first.pk)
    )
    if proposal.run_id and counted.exists():
        return first.seen_again
    rows = PlaybookDelta.objects.filter(pk=first.pk)
    rows.update(seen_again=F("seen_again") + 1)
    return first.seen_again + 1


def _is_lesson(proposal: Proposal) -> bool:
    return (
        not (proposal.is_by_person or proposal.origin)
        and proposal.operation in LESSONS
        and bool(proposal.content)
    )


def _met(project: Project, item: Item) -> Iterator[PlaybookDelta]:
    """Deltas with the same text, newest first, then its paraphrases, nearest first."""
    rows = PlaybookDelta.objects.filter(project=project, operation__in=LESSONS)
    for status in (REFUSED, Q(status=Status.PENDING)):
        yield from rows.filter(status, similarity_hash=item.hash).order_by("-pk")[:1]
    if not item.vector:
        return
    lane = semantic.exact_cosines(rows.filter(KNOWN), item.vector)
    near = [pk for pk, cosine in lane.items() if cosine >= MERGE][:LOOKED_AT]
    found = PlaybookDelta.objects.in_bulk(near)
    for pk in near:
        text = found[pk].content
        if not disagreement.reason_to_keep_apart(text, item.asked.content or ""):
            yield found[pk]


# Vectors


def remember(delta: PlaybookDelta, vector: Vector | None) -> None:
    """Keep the vector of a lesson that waits: a rejection needs no model then."""
    if vector and delta.status == Status.PENDING and delta.operation in LESSONS:
        _put(delta, vector)


def recalled(delta: PlaybookDelta) -> Vector | None:
    """The vector that was kept for the text as it was proposed."""
    kept = delta.vectors.filter(model=active_model.get().name).first()
    return kept.vector if kept else None


def forget(delta: PlaybookDelta) -> None:
    """An accepted text is known as an entry."""
    delta.vectors.all().delete()


def embed_later(project_id: uuid.UUID) -> None:
    queue.enqueue("embed_deltas", project_id=project_id, key=str(project_id))


def waiting(project_id: uuid.UUID) -> QuerySet[PlaybookDelta]:
    """Lessons of a project that are looked for and have no vector of the model."""
    have = DeltaVector.objects.filter(
        delta=OuterRef("pk"), model=active_model.get().name
    )
    rows: QuerySet[PlaybookDelta] = PlaybookDelta.objects.filter(
        KNOWN, ~Exists(have), project_id=project_id, operation__in=LESSONS
    )
    return rows.exclude(content="")


@runner.handler("embed_deltas", attempts=20, lease=timedelta(minutes=5))
def embed_waiting(run: runner.JobRun) -> dict[str, Any]:
    """Embed the lessons that the model did not answer for when they came."""
    project_id = run.job.project_id
    assert project_id
    return row_vectors.embed_waiting(run, lambda: waiting(project_id), _text, _put)


def _text(delta: PlaybookDelta) -> str:
    return delta.content


def _put(delta: PlaybookDelta, vector: Vector) -> None:
    _store_unchanged(delta, vector)
    if not active_model.is_active(vector):
        embed_later(delta.project_id)


def _store_unchanged(delta: PlaybookDelta, vector: Vector) -> None:
    """Keep a vector, unless the text changed while the model worked."""
    rows = PlaybookDelta.objects.select_for_update(no_key=True)
    with transaction.atomic():
        if rows.filter(pk=delta.pk, content=delta.content).exists():
            DeltaVector.objects.update_or_create(
                delta=delta,
                model=vector.model,
                defaults={"project_id": delta.project_id, "embedding": list(vector)},
            )


# The change of the model


reembed.EMBEDDED_TABLES.append(
    reembed.EmbeddedTable(
        vectors=DeltaVector,
        owner="delta",
        rows=PlaybookDelta.objects.exclude(content=""),
        due=KNOWN & Q(operation__in=LESSONS),
        text=_text,
        put=_store_unchanged,
    )
)
