"""Read the playbook as it was at a revision."""

from __future__ import annotations

import uuid
from dataclasses import dataclass

from common import errors
from common.caller import Caller, Role
from playbook.history import replay
from playbook.history.revision import SUPPORTS, EntryValues
from playbook.models import Playbook
from playbook.reading.entry_list import MAX_SUPPORTS, EntryFilters, EntryOrder
from projects.models import Project


class UnknownRevision(errors.Refusal):
    """The playbook has no such revision yet."""

    code = "unknown_revision"


@dataclass(frozen=True)
class PastEntry:
    """An entry as it was at a revision."""

    id: uuid.UUID
    state: EntryValues

    @property
    def supporting_memory_ids(self) -> list[str]:
        ids: list[str] = self.state[SUPPORTS]
        return ids[-MAX_SUPPORTS:]


def at_revision(
    project: Project,
    revision: int,
    filters: EntryFilters,
    order: EntryOrder,
    caller: Caller,
) -> list[PastEntry]:
    """Return the entries as they were at a revision.

    The entries are filtered and ordered.
    """
    caller.require(Role.VIEWER, project.pk)
    if revision > current_revision(project, caller):
        raise UnknownRevision(f"The playbook has no revision {revision} yet.")
    states = replay.snapshot_at(project, revision)
    past = [
        PastEntry(pk, state)
        for pk, state in states.items()
        if _matches_filters(state, filters)
    ]
    past.sort(
        key=lambda entry: (entry.state[order.sort], entry.id),
        reverse=order.is_descending,
    )
    return past


def current_revision(project: Project, caller: Caller) -> int:
    rows = Playbook.objects.visible_to(caller).filter(project=project)
    found = rows.values_list("revision", flat=True).first()
    return found or 0


def _matches_filters(state: EntryValues, filters: EntryFilters) -> bool:
    if state["status"] not in filters.status:
        return False
    if filters.category and state["category"] not in filters.category:
        return False
    match = any if filters.tags_match == "any" else all
    return not filters.tags or match(tag in state["tags"] for tag in filters.tags)
