"""The entries of a playbook at a revision, and the changes that the revision made."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

from django.core.paginator import Paginator
from django.db.models import QuerySet

from common.caller import Caller
from playbook.models import PlaybookChange, PlaybookEntry
from playbook.reading import change_list, past_revisions
from playbook.reading.change_list import ChangeFilters
from playbook.reading.entry_list import EntryFilters, EntryOrder
from projects.models import Project

ENTRIES_PER_PAGE = 50
# The number of changes that the page of a revision lists. An import or a revert may
# have made thousands of changes.
MAX_CHANGES = 50
COLUMNS = [
    "label",
    "content",
    "category",
    "priority",
    "pinned",
    "helpful",
    "harmful",
    "neutral",
    "version",
]


@dataclass(frozen=True)
class EntryAtRevision:
    """An entry as it was at a revision."""

    id: uuid.UUID
    label: str
    content: str
    category: str
    priority: int
    pinned: bool
    helpful: int
    harmful: int
    neutral: int
    version: int

    @property
    def sort_key(self) -> tuple[bool, int, str]:
        """Sort as agents get the entries: pinned entries first, then by priority."""
        return not self.pinned, -self.priority, self.label


def entries_at(
    project: Project, revision: int, caller: Caller
) -> list[EntryAtRevision]:
    """Return the live entries of a revision, in the order in which agents get them."""
    order = EntryOrder("label", is_descending=False)
    past = past_revisions.at_revision(project, revision, EntryFilters(), order, caller)
    entries = (
        EntryAtRevision(one.id, **{n: one.state[n] for n in COLUMNS}) for one in past
    )
    return sorted(entries, key=lambda entry: entry.sort_key)


def current_entries(project: Project, caller: Caller) -> QuerySet[PlaybookEntry]:
    """Return the entries of the present revision, without reading any history."""
    rows = PlaybookEntry.objects.visible_to(caller).filter(project=project).current()
    ordered = rows.order_by("-pinned", "-priority", "label")
    return cast("QuerySet[PlaybookEntry]", ordered.only(*COLUMNS))


def changes_of(project: Project, revision: int, caller: Caller) -> list[PlaybookChange]:
    """Return the changes of a revision, in order.

    Return at most one change more than the page shows.
    """
    rows = change_list.find(project, ChangeFilters(), caller).filter(revision=revision)
    return list(rows.in_order()[: MAX_CHANGES + 1])


def page_of(rows: Sequence[Any] | QuerySet[Any], number: str) -> Any:
    """Return a page of a list.

    If the number of the page is wrong, return the first or the last page.
    """
    return Paginator(rows, ENTRIES_PER_PAGE).get_page(number)
