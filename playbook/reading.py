"""Read the playbook: as it is, as it was, and how it came to be."""

from __future__ import annotations

import difflib
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Count, Exists, F, OuterRef, Prefetch, QuerySet, Value

from common import errors
from common.caller import Caller, Role
from inference.embedding import active_model
from memories.models import Memory
from playbook import freshness, indexing, replay
from playbook.freshness import Freshness
from playbook.models import (
    Conflict,
    EntryVector,
    Playbook,
    PlaybookChange,
    PlaybookDelta,
    PlaybookEntry,
    Support,
)
from playbook.queries import ChangeQuerySet, DeltaQuerySet, EntryQuerySet
from playbook.revisions import SUPPORTS, State
from projects.models import Project
from search import search
from search.columns import SEARCH_COLUMNS

# Supporting memories shown with an entry; an entry of long use has thousands.
SUPPORTS_SHOWN = 100
ACTIONS = (
    "add",
    "update",
    "delete",
    "vote",
    "support",
    "merge",
    "deprecate",
    "supersede",
    "restore",
    "tag",
    "revert",
    "verify",
)
SORTS = ("priority", "created_at", "updated_at", "helpful", "label")


class UnknownRevision(errors.Refusal):
    """The playbook has no such revision yet."""

    code = "unknown_revision"


@dataclass(frozen=True)
class Filters:
    """What the playbook is narrowed to; an empty field narrows nothing."""

    category: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    tags_match: str = "all"
    status: tuple[str, ...] = ("active",)
    freshness: Freshness | None = None


@dataclass(frozen=True)
class Order:
    """By a column, in either direction; ties are broken by id in the same one."""

    sort: str = "created_at"
    is_descending: bool = True


def entries(project: Project, filters: Filters, caller: Caller) -> EntryQuerySet:
    """The entries that a read covers. Waiting text is no entry and never among them."""
    caller.require(Role.VIEWER, project.pk)
    rows: EntryQuerySet = PlaybookEntry.objects.visible_to(caller).filter(
        project=project, status__in=filters.status
    )
    if filters.category:
        _refuse_unknown_categories(project, filters.category)
        rows = rows.filter(category__in=filters.category)
    if filters.tags:
        overlap = "overlap" if filters.tags_match == "any" else "contains"
        rows = rows.filter(**{f"tags__{overlap}": list(filters.tags)})
    if filters.freshness:
        rows = freshness.narrowed(rows, filters.freshness, caller)
    return rows


def disputed(project: Project) -> set[uuid.UUID]:
    """The entries that an open conflict names."""
    rows = Conflict.objects.filter(project=project, state=Conflict.State.OPEN)
    sides = rows.values_list("left_id", "right_id")
    return {pk for pair in sides for pk in pair if pk}


def _refuse_unknown_categories(project: Project, wanted: Sequence[str]) -> None:
    """A category that the project has given up is known while an entry has it."""
    strange = set(wanted).difference(project.options.categories)
    rows = PlaybookEntry.objects.filter(project=project, category__in=strange)
    strange -= (
        set(rows.order_by().values_list("category", flat=True)) if strange else set()
    )
    if strange:
        listed = ", ".join(project.options.categories)
        raise errors.Invalid(
            f"The project has no category {', '.join(sorted(strange))}.",
            errors={"category": [f"Must be one of {listed}."]},
        )


def in_full(rows: QuerySet[PlaybookEntry], caller: Caller) -> QuerySet[PlaybookEntry]:
    """With what the API shows of an entry, in a fixed number of queries."""
    seen = Memory.objects.visible_to(caller).readable()
    shown = Support.objects.filter(memory__in=seen).order_by("-pk")[:SUPPORTS_SHOWN]
    vectors = EntryVector.objects.filter(
        entry=OuterRef("pk"), model=active_model.get().name
    )
    disputed = Conflict.objects.filter(state=Conflict.State.OPEN)
    return (
        freshness.annotated(rows, caller)
        .defer(*SEARCH_COLUMNS)
        .prefetch_related(Prefetch("supports", shown, to_attr="shown_supports"))
        .annotate(
            support_count=Count("supports"),
            is_embedded=Exists(vectors),
            is_disputed=Exists(disputed.filter(left=OuterRef("pk")))
            | Exists(disputed.filter(right=OuterRef("pk"))),
        )
    )


def ordered(rows: QuerySet[PlaybookEntry], order: Order) -> list[uuid.UUID]:
    """The ids in order; a playbook is bounded by its token budget."""
    columns = [F(order.sort), F("pk")]
    keys = [c.desc() if order.is_descending else c.asc() for c in columns]
    return list(rows.order_by(*keys).values_list("pk", flat=True))


def rank(project: Project, rows: QuerySet[PlaybookEntry], query: str) -> search.Ranking:
    """The hybrid search of memories over entries."""
    options = project.options.search
    question = search.RankingRequest(
        query=query,
        project_id=project.pk,
        corpus=indexing.CORPUS,
        language=options.language,
        fusion=options.fusion,
        keyword_weight=options.keyword_weight,
        semantic_weight=options.semantic_weight,
    )
    return search.rank(rows, question, [indexing.arm(project.pk)])


@dataclass(frozen=True)
class Past:
    """An entry as it was at a revision."""

    id: uuid.UUID
    state: State

    @property
    def supporting_memory_ids(self) -> list[str]:
        ids: list[str] = self.state[SUPPORTS]
        return ids[-SUPPORTS_SHOWN:]


def at_revision(
    project: Project, revision: int, filters: Filters, order: Order, caller: Caller
) -> list[Past]:
    """The entries as they were at a revision, filtered and ordered alike."""
    caller.require(Role.VIEWER, project.pk)
    if revision > current_revision(project, caller):
        raise UnknownRevision(f"The playbook has no revision {revision} yet.")
    states = replay.state_at(project, revision)
    past = [Past(pk, state) for pk, state in states.items() if _fits(state, filters)]
    past.sort(
        key=lambda entry: (entry.state[order.sort], entry.id),
        reverse=order.is_descending,
    )
    return past


def current_revision(project: Project, caller: Caller) -> int:
    rows = Playbook.objects.visible_to(caller).filter(project=project)
    found = rows.values_list("revision", flat=True).first()
    return found or 0


def _fits(state: State, filters: Filters) -> bool:
    if state["status"] not in filters.status:
        return False
    if filters.category and state["category"] not in filters.category:
        return False
    every = any if filters.tags_match == "any" else all
    return not filters.tags or every(tag in state["tags"] for tag in filters.tags)


@dataclass(frozen=True)
class ChangeFilters:
    """What the changes are narrowed to; None and empty narrow nothing.

    `operation` is add, update or delete (REQ-MEM-DM-007); `action` is finer.
    """

    operation: str = ""
    action: str = ""
    actor: str = ""
    agent_id: str = ""
    entry: uuid.UUID | None = None
    date_from: datetime | None = None
    date_to: datetime | None = None


def changes(project: Project, filters: ChangeFilters, caller: Caller) -> ChangeQuerySet:
    """The change history of a project (REQ-MEM-API-003)."""
    caller.require(Role.VIEWER, project.pk)
    wanted: dict[str, Any] = {
        "operation": filters.operation,
        "action": filters.action,
        "actor": filters.actor,
        "agent_id": filters.agent_id,
        "entry_id": filters.entry,
        "changed_at__gte": filters.date_from,
        "changed_at__lte": filters.date_to,
    }
    given = {name: value for name, value in wanted.items() if value}
    return _changes(caller).filter(project_id=project.pk, **given)


def history(entry: PlaybookEntry, caller: Caller) -> ChangeQuerySet:
    return _changes(caller).filter(entry_id=entry.pk)


def _changes(caller: Caller) -> ChangeQuerySet:
    """Visible changes with `is_seen`: whether the caller may know whose memory it was.

    A bound user sees what changed in the shared playbook, not from whose task.
    """
    rows: ChangeQuerySet = PlaybookChange.objects.visible_to(caller)
    memories = Memory.objects.visible_to(caller)
    theirs = Exists(memories.filter(pk=OuterRef("related_memory_id")))
    told: ChangeQuerySet = rows.annotate(
        is_seen=theirs if caller.user_id else Value(True)
    )
    return told


def difference(change: PlaybookChange) -> list[str]:
    """The changed text, line by line, as a unified diff without its head."""
    before, after = change.before.get("content"), change.after.get("content")
    if before is None and after is None:
        return []
    lines = difflib.unified_diff(
        str(before or "").splitlines(), str(after or "").splitlines(), lineterm="", n=1
    )
    return [line for line in lines if not line.startswith(("---", "+++", "@@"))]


@dataclass(frozen=True)
class DeltaFilters:
    status: tuple[str, ...] = ()
    operation: tuple[str, ...] = ()
    producer: str = ""
    risk: str = ""
    entry: uuid.UUID | None = None
    run_id: uuid.UUID | None = None


def deltas(project: Project, filters: DeltaFilters, caller: Caller) -> DeltaQuerySet:
    """Proposals and what became of them, with their quotes: for people, not agents."""
    caller.require(Role.VIEWER, project.pk)
    wanted: Mapping[str, Any] = {
        "status__in": filters.status,
        "operation__in": filters.operation,
        "producer": filters.producer,
        "risk": filters.risk,
        "entry_id": filters.entry,
        "run_id": filters.run_id,
    }
    given = {name: value for name, value in wanted.items() if value}
    rows: DeltaQuerySet = PlaybookDelta.objects.visible_to(caller)
    return rows.filter(project=project, **given).with_entry()


def seen_memories(ids: Sequence[uuid.UUID | None], caller: Caller) -> set[uuid.UUID]:
    """Which of these memories the caller may see; another user's are not named."""
    if not caller.user_id:
        return {pk for pk in ids if pk}
    rows = Memory.objects.visible_to(caller).filter(pk__in=[pk for pk in ids if pk])
    return set(rows.values_list("pk", flat=True))
