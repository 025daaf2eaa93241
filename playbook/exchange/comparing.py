"""Compare imported texts that wait with the playbook, once they are embedded.

An import of thousands of lines is answered at once; embedding them takes minutes.
"""

from __future__ import annotations

import uuid
from dataclasses import asdict
from datetime import timedelta

from django.db.models import QuerySet

from common.caller import SYSTEM
from common.writing import write
from inference import embedding
from inference.errors import InferenceError
from inference.vectors import Vector
from jobs import errors as job_errors
from jobs import queue, running
from playbook import checking, deciding, disputes, proposals, rejected, reviewing
from playbook.gates import Gate
from playbook.models import PlaybookDelta

BATCH = 32  # texts embedded between two steps of the job
COMPARED = ("duplicate", "contradiction")


def later(project_id: uuid.UUID) -> None:
    queue.enqueue("compare_imported", project_id=project_id, key=str(project_id))


def waiting(project_id: uuid.UUID) -> QuerySet[PlaybookDelta]:
    """Imported texts for a person to decide that nobody has compared yet."""
    return PlaybookDelta.objects.filter(
        project_id=project_id,
        status=PlaybookDelta.Status.PENDING,
        payload__origin="import",
        gates__contains=[{"name": "duplicate", "value": checking.NOT_COMPARED}],
    )


@running.handler("compare_imported", attempts=20, lease=timedelta(minutes=5))
def compare_waiting(run: running.Run) -> dict[str, int]:
    """Give imported texts that wait their gates of comparison."""
    assert run.job.project_id
    rows = waiting(run.job.project_id).select_related("project").order_by("pk")
    done = run.job.done
    while batch := list(rows[:BATCH]):
        try:
            vectors = embedding.embed([delta.content for delta in batch])
        except InferenceError as error:
            kind = job_errors.Later if error.retryable else job_errors.Permanent
            raise kind(str(error)) from error
        for delta, vector in zip(batch, vectors, strict=True):
            _compare(delta, vector)
        done += len(batch)
        run.step(done, done + rows.count())
        run.give_way()
    return {"compared": done}


@write
def _compare(delta: PlaybookDelta, vector: Vector) -> None:
    try:
        playbook, delta = reviewing.hold_delta(delta, None)
    except reviewing.DeltaState:
        return  # decided while the model worked
    item = proposals.again(delta, vector)
    found = checking.check(playbook, item, key_id=delta.key_id)
    # The others stand as they were: what a whole import takes out is not known here.
    kept = [Gate(**gate) for gate in delta.gates if gate["name"] not in COMPARED]
    gates = [*kept, *(gate for gate in found if gate.name in COMPARED)]
    decision = deciding.decide(delta.project, item.proposal, gates, SYSTEM)
    delta.gates = [asdict(gate) for gate in gates]
    delta.risk, delta.review_note = decision.risk, decision.reason[:1000]
    delta.save(update_fields=["gates", "risk", "review_note"])
    rejected.remember(delta, vector)
    disputes.file(delta, item.match)
