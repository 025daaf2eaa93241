"""Find, order and load the entries of a playbook."""

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
    EntryVector,
    PlaybookEntry,
    Support,
)
from playbook.queries import EntryQuerySet
from playbook.reading import acceptance
from projects.models import Project
from search import search
from search.columns import SEARCH_COLUMNS

# Number of supporting memories shown with an entry. An old entry has thousands of them.
MAX_SUPPORTS = 100
SORTS = ("priority", "created_at", "updated_at", "helpful", "label")


@dataclass(frozen=True)
class EntryFilters:
    """Filters of entries.

    An empty field filters nothing.
    """

    category: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    tags_match: str = "all"
    status: tuple[str, ...] = ("active",)
    freshness: Freshness | None = None


@dataclass(frozen=True)
class EntryOrder:
    """An order by one column.

    Entries with equal values are ordered by id in the same direction.
    """

    sort: str = "created_at"
    is_descending: bool = True


def find(project: Project, filters: EntryFilters, caller: Caller) -> EntryQuerySet:
    """Find the entries that match the filters."""
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


def contested_ids(project: Project) -> set[uuid.UUID]:
    """Return the ids of the active entries in doubt: agents get them as `contested`."""
    entries = PlaybookEntry.objects.filter(project=project).current().order_by()
    return set(entries.filter(freshness.in_doubt()).values_list("pk", flat=True))


def _refuse_unknown_categories(project: Project, categories: Sequence[str]) -> None:
    """Raise an error for unknown categories.

    A removed category is known as long as an entry has this category.
    """
    unknown = set(categories).difference(project.options.categories)
    rows = PlaybookEntry.objects.filter(project=project, category__in=unknown)
    unknown -= (
        set(rows.order_by().values_list("category", flat=True)) if unknown else set()
    )
    if unknown:
        listed = ", ".join(project.options.categories)
        raise errors.Invalid(
            f"The project has no category {', '.join(sorted(unknown))}.",
            errors={"category": [f"Must be one of {listed}."]},
        )


def with_details(
    rows: QuerySet[PlaybookEntry], caller: Caller
) -> QuerySet[PlaybookEntry]:
    """Add the rows that the API shows with an entry, in a fixed number of queries."""
    visible = Memory.objects.visible_to(caller).readable()
    recent = Support.objects.filter(memory__in=visible).order_by("-pk")[:MAX_SUPPORTS]
    vectors = EntryVector.objects.filter(
        entry=OuterRef("pk"), model=active_model.find_name()
    )
    return (
        freshness.annotate(rows, caller)
        .defer(*SEARCH_COLUMNS)
        .prefetch_related(Prefetch("supports", recent, to_attr="recent_supports"))
        .annotate(
            support_count=Count("supports"),
            is_embedded=Exists(vectors),
            is_of_person=acceptance.of_person(),
        )
    )


def is_accepted(entry: PlaybookEntry) -> bool:
    """Return whether a person stands behind an entry of `with_details`, and nothing against it."""
    is_of_person: bool = entry.is_of_person  # type: ignore[attr-defined]  # `with_details`
    return is_of_person and not freshness.is_in_doubt(entry)


def order_ids(rows: QuerySet[PlaybookEntry], order: EntryOrder) -> list[uuid.UUID]:
    """Return the ids of all entries in order.

    The token budget limits the number of entries.
    """
    columns = [F(order.sort), F("pk")]
    keys = [c.desc() if order.is_descending else c.asc() for c in columns]
    return list(rows.order_by(*keys).values_list("pk", flat=True))


def rank(project: Project, rows: QuerySet[PlaybookEntry], query: str) -> search.Ranking:
    """Rank entries by the same hybrid search that ranks memories."""
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
    """Return an entry if the caller may see it in this role.

    Raises NotFound and Forbidden.
    """
    rows = PlaybookEntry.objects.visible_to(caller).light().select_related("project")
    found: PlaybookEntry | None = rows.filter(pk=entry_id).first()
    if found is None:
        raise errors.NotFound(f"There is no entry {entry_id}.")
    caller.require(role, found.project_id)
    return found


def get_live(project: Project, label: str, caller: Caller) -> PlaybookEntry:
    """Return the live entry with a label. Raises NotFound."""
    rows = find(project, EntryFilters(), caller).light()
    found: PlaybookEntry | None = rows.filter(label=label).first()
    if found is None:
        raise errors.NotFound(f"There is no live rule {label}.")
    return found
