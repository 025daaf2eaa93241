"""One decision about many deltas."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from common import errors
from common.caller import Caller, Role
from playbook import curation
from playbook.models import PlaybookDelta
from projects.models import Project


@dataclass(frozen=True)
class Outcome:
    """What became of one delta of a bulk request."""

    delta_id: uuid.UUID
    status: str
    refusal: errors.Refusal | None = None


def decide(
    project: Project,
    delta_ids: Sequence[uuid.UUID],
    action: Literal["accept", "reject"],
    caller: Caller,
    *,
    reason: str = "",
) -> list[Outcome]:
    """Decide about many deltas, each on its own: one refusal does not stop the rest."""
    caller.require(Role.CURATOR, project.pk)
    rows = PlaybookDelta.objects.visible_to(caller).filter(project=project)
    found = rows.select_related("project", "entry").in_bulk(list(delta_ids))
    return [
        _one_of_many(found.get(pk), pk, action, caller, reason)
        for pk in dict.fromkeys(delta_ids)
    ]


def _one_of_many(
    delta: PlaybookDelta | None,
    delta_id: uuid.UUID,
    action: str,
    caller: Caller,
    reason: str,
) -> Outcome:
    try:
        if delta is None:
            raise errors.NotFound(f"There is no delta {delta_id}.")
        if action == "accept":
            done = curation.accept(delta, caller, note=reason)
        else:
            done = curation.reject(delta, caller, reason=reason)
    except errors.Refusal as refusal:
        return Outcome(delta_id, "refused", refusal)
    return Outcome(delta_id, done.status)
