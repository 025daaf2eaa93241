"""Build the answer to a batch, and wait until its memories are embedded."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any

from common.caller import Caller
from memories.maintenance import embedding_wait
from memories.store import vectors
from memories.store.receipt import Receipt
from memories.views.answers import batch_answer
from projects.models import Project


def build_batch(
    receipts: Sequence[Receipt], project: Project, caller: Caller
) -> dict[str, Any]:
    """Return the receipts, and the job that embeds the memories without a vector."""
    missing = [
        each.memory
        for each in receipts
        if each.memory and not each.semantic and not each.memory.is_duplicate
    ]
    job = embedding_wait.find_embedding_job(project.pk) if missing else None
    return {
        "results": [batch_answer(receipt) for receipt in receipts],
        "job_id": str(job.pk) if job and not caller.user_id else None,
        "waiting": len(missing),
    }


def wait_for_batch(answer: dict[str, Any], project: Project, seconds: float) -> None:
    """Wait for the vectors of a batch, and bring its answer up to date."""
    receipts = {
        uuid.UUID(str(receipt["id"])): receipt
        for receipt in answer["results"]
        if receipt["id"] and not receipt["searchable"]["semantic"]
    }
    if not receipts:
        return
    waiting = embedding_wait.wait_until_embedded(project.pk, list(receipts), seconds)
    for memory_id in embedding_wait.find_searchable(list(receipts)):
        receipt = receipts[memory_id]
        receipt["searchable"] = {"keyword": True, "semantic": True}
        receipt["notes"] = [
            note for note in receipt["notes"] if not note.startswith(vectors.NOT_YET)
        ]
    answer["waiting"] = len(waiting)
