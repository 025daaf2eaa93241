"""Decide about many deltas at once."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from common import errors
from common.caller import Caller, Role
from playbook.models import PlaybookDelta
from playbook.queries import DeltaQuerySet
from playbook.review import decide, delta_review
from playbook.review.delta_review import EmbeddedText
from projects.models import Project


@dataclass(frozen=True)
class BulkOutcome:
    """The result for one delta of a bulk request, with its version after the decision."""

    delta_id: uuid.UUID
    status: str
    version: int | None = None
    refusal: errors.Refusal | None = None


def decide_all(
    project: Project,
    delta_ids: Sequence[uuid.UUID],
    action: Literal["accept", "reject"],
    caller: Caller,
    *,
    reason: str = "",
    embedded_texts: Mapping[uuid.UUID, EmbeddedText] | None = None,
) -> list[BulkOutcome]:
    """Accept or reject each of many deltas.

    Only deltas of low risk are accepted. If one delta is refused, the others are still
    decided.
    """
    caller.require(Role.CURATOR, project.pk)
    deltas = _find_deltas(project, delta_ids, caller)
    return [
        _decide_one(
            deltas.get(pk), pk, action, caller, reason, (embedded_texts or {}).get(pk)
        )
        for pk in dict.fromkeys(delta_ids)
    ]


def embed_texts(
    project: Project, delta_ids: Sequence[uuid.UUID], caller: Caller
) -> dict[uuid.UUID, EmbeddedText]:
    """Embed the texts of the waiting deltas.

    Views call this function before they open their transaction.
    """
    deltas = _find_deltas(project, delta_ids, caller)
    return {
        pk: delta_review.embed_text(delta, delta.content)
        for pk, delta in deltas.items()
        if delta.status == PlaybookDelta.DeltaStatus.PENDING
    }


def _find_deltas(
    project: Project, delta_ids: Sequence[uuid.UUID], caller: Caller
) -> dict[uuid.UUID, PlaybookDelta]:
    rows: DeltaQuerySet = PlaybookDelta.objects.visible_to(caller)
    return rows.filter(project=project).with_entry().in_bulk(list(delta_ids))


def _decide_one(
    delta: PlaybookDelta | None,
    delta_id: uuid.UUID,
    action: str,
    caller: Caller,
    reason: str,
    embedded_text: EmbeddedText | None,
) -> BulkOutcome:
    try:
        if delta is None:
            raise errors.NotFound(f"There is no delta {delta_id}.")
        if action == "accept":
            decided_delta = decide.accept(
                delta, caller, note=reason, in_bulk=True, embedded_text=embedded_text
            )
        else:
            decided_delta = decide.reject(delta, caller, reason=reason)
    except errors.Refusal as refusal:
        return BulkOutcome(delta_id, "refused", refusal=refusal)
    return BulkOutcome(delta_id, decided_delta.status, decided_delta.version)
