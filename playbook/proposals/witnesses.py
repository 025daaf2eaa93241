"""Apply a repair that waits once a second, independent person shows the same repair.

The calls of a task are text that the client sends. One key that may not attest could invent a
repair; two people who do not know of each other cannot invent the same one.
"""

from __future__ import annotations

import uuid

from django.db import transaction
from django.db.models import Q

from access.models import ApiKey
from audit import trail
from common import errors
from common.caller import Caller
from playbook import delta_vectors
from playbook.history import votes
from playbook.history.revision import Cause
from playbook.models import Playbook, PlaybookDelta
from playbook.proposals import apply, privacy
from playbook.proposals.proposed_change import Operation, Proposal
from projects.models import Project

Status = PlaybookDelta.DeltaStatus


def find_waiting(
    project: Project, proposal: Proposal, caller: Caller
) -> PlaybookDelta | None:
    """Return the oldest waiting delta by which another person shows the same repair.

    A delta that a gate holds for another reason than an unknown outcome is left to people,
    as is one from a private memory.
    """
    rows = PlaybookDelta.objects.pending().filter(
        project=project,
        operation=Operation.ADD,
        payload__repair_key=proposal.repair_key,
    )
    line = ApiKey.objects.of_same_line(caller.key_id).values("pk")
    others = rows.exclude(person__in=["", *caller.own_names]).exclude(
        Q(key_id__in=line) | Q(memory_id__in=privacy.private_memories().values("pk"))
    )
    return next((one for one in others.order_by("pk") if _passes(one)), None)


def _passes(delta: PlaybookDelta) -> bool:
    return all(
        gate["verdict"] == "pass" or gate["name"] == "outcome" for gate in delta.gates
    )


def confirm(
    playbook: Playbook, waiting_id: uuid.UUID, second: PlaybookDelta, caller: Caller
) -> None:
    """Apply the waiting delta; the run of the second delta is named as its witness.

    If the delta cannot be applied, such as for the budget, it goes on waiting for a person.
    """
    waiting = PlaybookDelta.objects.select_for_update(no_key=True).get(pk=waiting_id)
    waiting.project = playbook.project
    waiting.payload["confirmed_by"] = {
        "delta_id": str(second.pk),
        "run_id": str(second.run_id),
    }
    waiting.review_note = f"Another person's run showed the same repair: {second.pk}."
    try:
        with transaction.atomic():
            changes = apply.apply_delta(
                playbook,
                waiting,
                caller,
                status=Status.APPLIED,
                vector=delta_vectors.find(waiting),
            )
    except errors.Refusal as refusal:
        playbook.refresh_from_db()
        note = f"{waiting.review_note} It could not be applied: {refusal.detail}"
        PlaybookDelta.objects.filter(pk=waiting.pk).update(review_note=note[:1000])
        return
    _support(playbook, second, changes[0].entry_id, caller)
    playbook.refresh_from_db()  # the support is a revision of its own
    trail.record(
        caller,
        "delta.confirm",
        project_id=waiting.project_id,
        object_type="playbook_delta",
        object_id=waiting.pk,
        runs=[str(waiting.run_id), str(second.run_id)],
        confirmed_by=str(second.pk),
    )


def _support(
    playbook: Playbook, second: PlaybookDelta, entry_id: uuid.UUID, caller: Caller
) -> None:
    """Let the memory of the second run support the entry, as the first one's does."""
    cause = Cause(
        reason="The run showed the same repair.",
        run_id=second.run_id,
        memory_id=second.memory_id,
        agent_id=second.agent_id,
    )
    votes.record(playbook.project, [], [entry_id], cause, caller)
