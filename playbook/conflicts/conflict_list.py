"""Find conflicts, and load them with both sides."""

from __future__ import annotations

import uuid
from collections.abc import Sequence

from django.db.models import (
    Case,
    Count,
    F,
    IntegerField,
    OuterRef,
    Prefetch,
    Q,
    QuerySet,
    Subquery,
    When,
)
from django.db.models.functions import Coalesce

from common import errors
from common.caller import Caller, Role
from playbook.models import Conflict, PlaybookDelta, Support
from playbook.queries import ConflictQuerySet
from projects.models import Project
from search.columns import search_columns_of

# Number of newest deltas of an entry whose quotes are shown.
MAX_QUOTED_DELTAS = 5


def get(conflict_id: uuid.UUID, caller: Caller, role: Role = Role.VIEWER) -> Conflict:
    """Return a conflict if the caller may see it in this role.

    Raises NotFound and Forbidden.
    """
    rows = with_details(Conflict.objects.visible_to(caller), caller)
    found = rows.filter(pk=conflict_id).first()
    if found is None:
        raise errors.NotFound(f"There is no conflict {conflict_id}.")
    caller.require(role, found.project_id)
    return found


def find(project: Project, states: Sequence[str], caller: Caller) -> QuerySet[Conflict]:
    """Find the conflicts in these states, with both sides.

    Without states, find the conflicts in any state.
    """
    caller.require(Role.VIEWER, project.pk)
    rows: ConflictQuerySet = Conflict.objects.visible_to(caller)
    rows = rows.filter(project=project)
    return with_details(rows.filter(state__in=states) if states else rows, caller)


def with_details(rows: ConflictQuerySet, caller: Caller) -> QuerySet[Conflict]:
    """Add both sides with their quotes and supports, in a fixed number of queries."""
    deltas = PlaybookDelta.objects.visible_to(caller).exclude(evidence=[])
    deltas = deltas.filter(status__in=PlaybookDelta.IN_FORCE).order_by("-pk")[
        :MAX_QUOTED_DELTAS
    ]
    is_done = Q(right=None, delta__status__in=PlaybookDelta.IN_FORCE)
    newer = Case(When(is_done, then=F("delta__entry_id")), default=F("right_id"))
    return (
        with_sides(rows)
        .prefetch_related(
            Prefetch("left__deltas", deltas, to_attr="quoted_deltas"),
            Prefetch("right__deltas", deltas, to_attr="quoted_deltas"),
            Prefetch("delta__entry__deltas", deltas, to_attr="quoted_deltas"),
        )
        .annotate(newer_id=newer)
        .annotate(
            left_supports=_support_count("left"),
            right_supports=_support_count("newer_id"),
        )
    )


def disputed_entries(entry_id: uuid.UUID) -> set[uuid.UUID]:
    """Return the active entries in an open conflict with an active entry.

    A conflict that closed by itself, and that a revert is opening again, does not count.
    """
    in_force = Q(delta=None) | Q(delta__status__in=PlaybookDelta.IN_FORCE)
    newer = Coalesce("right_id", "delta__entry_id")
    rows = Conflict.objects.unresolved().filter(in_force).annotate(newer=newer)
    rows = rows.exclude(decided_by="", decided_with__len__gt=0)
    pairs = rows.filter(Q(left=entry_id) | Q(newer=entry_id))
    found = {pk for pair in pairs.values_list("left_id", "newer") for pk in pair}
    return found - {entry_id, None}


def with_sides(rows: ConflictQuerySet) -> QuerySet[Conflict]:
    """Add the entries and deltas of both sides, without their search columns."""
    sides = ("left", "right", "delta__entry")
    found: QuerySet[Conflict] = rows.select_related("project", "delta", *sides)
    return found.defer(*search_columns_of(*sides))


def _support_count(entry: str) -> Coalesce:
    counted = Support.objects.filter(entry=OuterRef(entry)).order_by()
    each = counted.values("entry").annotate(number=Count("*")).values("number")
    return Coalesce(Subquery(each), 0, output_field=IntegerField())
