"""One decision about many deltas."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from common import errors
from common.caller import Caller, Role
from playbook import curation, reviewing
from playbook.models import PlaybookDelta
from playbook.queries import DeltaQuerySet
from playbook.reviewing import Made
from projects.models import Project


@dataclass(frozen=True)
class Outcome:
    """What became of one delta of a bulk request; its version is that of the decision."""

    delta_id: uuid.UUID
    status: str
    version: int | None = None
    refusal: errors.Refusal | None = None


def decide(
    project: Project,
    delta_ids: Sequence[uuid.UUID],
    action: Literal["accept", "reject"],
    caller: Caller,
    *,
    reason: str = "",
    made: Mapping[uuid.UUID, Made] | None = None,
) -> list[Outcome]:
    """Decide about many deltas, each on its own: one refusal does not stop the rest."""
    caller.require(Role.CURATOR, project.pk)
    found = _found(project, delta_ids, caller)
    return [
        _one_of_many(found.get(pk), pk, action, caller, reason, (made or {}).get(pk))
        for pk in dict.fromkeys(delta_ids)
    ]


def embedded(
    project: Project, delta_ids: Sequence[uuid.UUID], caller: Caller
) -> dict[uuid.UUID, Made]:
    """The vectors of what waits: for a door, before its transaction."""
    found = _found(project, delta_ids, caller)
    return {
        pk: reviewing.embedded(delta, delta.content)
        for pk, delta in found.items()
        if delta.status == PlaybookDelta.Status.PENDING
    }


def _found(
    project: Project, delta_ids: Sequence[uuid.UUID], caller: Caller
) -> dict[uuid.UUID, PlaybookDelta]:
    rows: DeltaQuerySet = PlaybookDelta.objects.visible_to(caller)
    return rows.filter(project=project).with_entry().in_bulk(list(delta_ids))


def _one_of_many(
    delta: PlaybookDelta | None,
    delta_id: uuid.UUID,
    action: str,
    caller: Caller,
    reason: str,
    made: Made | None,
) -> Outcome:
    try:
        if delta is None:
            raise errors.NotFound(f"There is no delta {delta_id}.")
        if action == "accept":
            done = curation.accept(delta, caller, note=reason, made=made)
        else:
            done = curation.reject(delta, caller, reason=reason)
    except errors.Refusal as refusal:
        return Outcome(delta_id, "refused", refusal=refusal)
    return Outcome(delta_id, done.status, done.version)
