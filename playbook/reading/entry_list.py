"""Read the playbook: as it is, as it was, and how it came to be."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Count, Exists, F, OuterRef, Prefetch, QuerySet

from common import errors
from common.caller import Caller, Role
from inference.embedding import active_model
from memories.models import Memory
from playbook.entries import entry_index, freshness
from playbook.entries.freshness import Freshness
from playbook.models import (
    Conflict,
    EntryVector,
    PlaybookEntry,
    Support,
)
from playbook.queries import EntryQuerySet
from projects.models import Project
from search import search
from search.columns import SEARCH_COLUMNS

# Supporting memories shown with an entry; an entry of long use has thousands.
MAX_SUPPORTS = 100
SORTS = ("priority", "created_at", "updated_at", "helpful", "label")


@dataclass(frozen=True)
class EntryFilters:
    """What the playbook is narrowed to; an empty field narrows nothing."""

    category: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    tags_match: str = "all"
    status: tuple[str, ...] = ("active",)
    freshness: Freshness | None = None


@dataclass(frozen=True)
class EntryOrder:
    """By a column, in either direction; ties are broken by id in the same one."""

    sort: str = "created_at"
    is_descending: bool = True


def find(project: Project, filters: EntryFilters, caller: Caller) -> EntryQuerySet:
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
        rows = freshness.filter_rows(rows, filters.freshness, caller)
    return rows


def conflicting_ids(project: Project) -> set[uuid.UUID]:
    """The entries that an open conflict names."""
    rows = Conflict.objects.filter(project=project, state=Conflict.ConflictStage.OPEN)
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


def with_details(
    rows: QuerySet[PlaybookEntry], caller: Caller
) -> QuerySet[PlaybookEntry]:
    """With what the API shows of an entry, in a fixed number of queries."""
    seen = Memory.objects.visible_to(caller).readable()
    shown = Support.objects.filter(memory__in=seen).order_by("-pk")[:MAX_SUPPORTS]
    vectors = EntryVector.objects.filter(
        entry=OuterRef("pk"), model=active_model.get().name
    )
    disputed = Conflict.objects.filter(state=Conflict.ConflictStage.OPEN)
    return (
        freshness.annotate(rows, caller)
        .defer(*SEARCH_COLUMNS)
        .prefetch_related(Prefetch("supports", shown, to_attr="recent_supports"))
        .annotate(
            support_count=Count("supports"),
            is_embedded=Exists(vectors),
            is_disputed=Exists(disputed.filter(left=OuterRef("pk")))
            | Exists(disputed.filter(right=OuterRef("pk"))),
        )
    )


def order_ids(rows: QuerySet[PlaybookEntry], order: EntryOrder) -> list[uuid.UUID]:
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
        corpus=entry_index.CORPUS,
        language=options.language,
        fusion=options.fusion,
        keyword_weight=options.keyword_weight,
        semantic_weight=options.semantic_weight,
    )
    return search.rank(rows, question, [entry_index.partition(project.pk)])


def get(entry_id: uuid.UUID, caller: Caller, role: Role = Role.VIEWER) -> PlaybookEntry:
    """An entry that the caller sees and has the role for, or a refusal."""
    rows = PlaybookEntry.objects.visible_to(caller).light().select_related("project")
    found: PlaybookEntry | None = rows.filter(pk=entry_id).first()
    if found is None:
        raise errors.NotFound(f"There is no entry {entry_id}.")
    caller.require(role, found.project_id)
    return found
