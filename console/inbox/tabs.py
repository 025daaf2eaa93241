"""The tabs of the inbox: the rows that each tab lists, and their order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.db.models import Q, QuerySet
from django.utils import timezone

from common.admin.filters import filter_input
from common.caller import Caller
from common.ids import lowest_id_at
from common.text import plain_text
from memories.models import PossibleDuplicate
from playbook.models import PlaybookDelta
from playbook.queries import DeltaQuerySet
from projects.models import Project

Status = PlaybookDelta.DeltaStatus
CARDS_PER_PAGE = 20  # cards on one page of a tab
# How long a tab lists a proposal that the policy applied without a person.
UNDO_WINDOW = timedelta(days=7)


@dataclass(frozen=True)
class InboxTab:
    """A tab of the inbox.

    `kind` names the template of the cards in the tab. If the tab has no rows,
    `empty_text` tells the reader what to do next.
    """

    name: str
    label: str
    kind: str
    rows: Callable[[Project, Caller], QuerySet[Any]]
    empty_text: str

    @property
    def has_filters(self) -> bool:
        return self.kind == "delta"


def _project_deltas(project: Project, caller: Caller) -> DeltaQuerySet:
    rows: DeltaQuerySet = PlaybookDelta.objects.visible_to(caller)
    return rows.filter(project=project)


def _pending_rows(project: Project, caller: Caller) -> QuerySet[Any]:
    rows = (
        _project_deltas(project, caller).awaiting_decision().exclude(risk="quarantine")
    )
    return rows.riskiest_first()


def _quarantined_rows(project: Project, caller: Caller) -> QuerySet[Any]:
    rows = (
        _project_deltas(project, caller).awaiting_decision().filter(risk="quarantine")
    )
    return rows.riskiest_first()


def _automatic_rows(project: Project, caller: Caller) -> QuerySet[Any]:
    since = lowest_id_at(timezone.now() - UNDO_WINDOW)
    rows = _project_deltas(project, caller).filter(status=Status.APPLIED, pk__gte=since)
    by_hand = Q(producer=PlaybookDelta.Producer.HUMAN)
    return rows.exclude(by_hand | Q(operation="vote")).order_by("-pk")


def _rejected_rows(project: Project, caller: Caller) -> QuerySet[Any]:
    return _project_deltas(project, caller).first_rejections().order_by("-pk")


def _duplicate_rows(project: Project, caller: Caller) -> QuerySet[Any]:
    rows = PossibleDuplicate.objects.visible_to(caller).filter(project=project)
    return rows.filter(state=PossibleDuplicate.PairState.OPEN).light().order_by("-pk")


TABS = (
    InboxTab(
        "pending",
        "Pending",
        "delta",
        _pending_rows,
        "Nothing waits for a decision. What agents learn comes here if the project's "
        "policy asks for a person.",
    ),
    InboxTab(
        "duplicates",
        "Possible duplicates",
        "duplicate",
        _duplicate_rows,
        "No two memories are so similar that a person has to decide.",
    ),
    InboxTab(
        "quarantine",
        "Quarantine",
        "delta",
        _quarantined_rows,
        "No proposal reads like an attack on the agents.",
    ),
    InboxTab(
        "automatic",
        "Applied automatically",
        "delta",
        _automatic_rows,
        "Nothing was applied without a person in the last seven days.",
    ),
    InboxTab(
        "rejected", "Rejected", "delta", _rejected_rows, "Nothing was rejected yet."
    ),
)
TABS_BY_NAME = {tab.name: tab for tab in TABS}


@dataclass(frozen=True)
class ProposalFilters:
    """The filters of a list of proposals. An empty filter keeps all proposals."""

    category: str = ""
    producer: str = ""
    kind: str = ""
    run: str = ""

    @property
    def values(self) -> dict[str, str]:
        return {name: value for name, value in vars(self).items() if value}

    def apply(self, rows: QuerySet[Any]) -> QuerySet[Any]:
        lookups = {
            "producer": self.producer,
            "kind": self.kind,
            "run_id": self.run,
        }
        rows = filter_input(rows, **{n: v for n, v in lookups.items() if v})
        if self.category and plain_text.find_unstorable(self.category):
            return rows.none()
        is_of_proposal = Q(category=self.category)
        is_of_entry = Q(category="", entry__category=self.category)
        return rows.filter(is_of_proposal | is_of_entry) if self.category else rows
