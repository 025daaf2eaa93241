"""Compare imported texts with the playbook, in a job that embeds the texts.

An import of thousands of lines returns at once, although embedding the lines takes
minutes.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import asdict
from datetime import timedelta
from functools import partial
from typing import Any

from django.db.models import QuerySet

from common.caller import SYSTEM
from common.db import write
from inference.embedding import row_vectors
from inference.embedding.vector import Vector
from jobs import queue, runner
from playbook import delta_vectors
from playbook.conflicts import conflict_lifecycle
from playbook.models import PlaybookDelta
from playbook.proposals import gates, policy, submission
from playbook.review import delta_review
from playbook.rule_text.text_gates import GateResult

COMPARISON_GATES = ("duplicate", "contradiction")


def enqueue(project_id: uuid.UUID) -> None:
    queue.enqueue("compare_imported", project_id=project_id, key=str(project_id))


def uncompared_deltas(project_id: uuid.UUID) -> QuerySet[PlaybookDelta]:
    """Find waiting imported texts that were not yet compared with the playbook."""
    return PlaybookDelta.objects.filter(
        project_id=project_id,
        status=PlaybookDelta.DeltaStatus.PENDING,
        payload__origin="import",
        gates__contains=[{"name": "duplicate", "value": gates.NOT_COMPARED}],
    ).select_related("project")


@runner.handler("compare_imported", attempts=20, lease=timedelta(minutes=5))
def compare_imported(run: runner.JobRun) -> dict[str, Any]:
    """Embed waiting imported texts, and add the gates that compare the texts with entries."""
    project_id = run.job.project_id
    assert project_id
    rows = partial(uncompared_deltas, project_id)
    return row_vectors.embed_waiting(run, rows, lambda delta: delta.content, _compare)


@write
def _compare(delta: PlaybookDelta, vectors: Sequence[Vector]) -> None:
    playbook, delta = delta_review.lock_row(delta)
    if delta.status != PlaybookDelta.DeltaStatus.PENDING:
        return  # A person decided about the delta while the model worked.
    item = submission.reevaluate(delta, vectors[0])
    new_results = gates.evaluate(playbook, item, key_id=delta.key_id)
    # The other gates stay, because the removals of the whole import are not known here.
    kept_results = [
        GateResult(**gate)
        for gate in delta.gates
        if gate["name"] not in COMPARISON_GATES
    ]
    results = [
        *kept_results,
        *(gate for gate in new_results if gate.name in COMPARISON_GATES),
    ]
    decision = policy.decide(delta.project, item.proposal, results, SYSTEM)
    delta.gates = [asdict(result) for result in results]
    delta.risk, delta.review_note = decision.risk, decision.reason[:1000]
    delta.save(update_fields=["gates", "risk", "review_note"])
    delta_vectors.keep(delta, vectors[0])
    conflict_lifecycle.open_conflicts(delta, item.contradicted)
