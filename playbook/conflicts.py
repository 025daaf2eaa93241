"""Two rules that cannot both hold: their sides, and whether anything is left to decide.

They come and go in `playbook.disputes` and are decided in `playbook.resolving`.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass

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

from audit import trail
from common import errors
from common.caller import Caller, Role
from common.text.contradiction import disagreement
from inference.embedding.vector import Vector
from playbook import neighbours, rejected
from playbook.models import Conflict, PlaybookDelta, PlaybookEntry, Support
from playbook.queries import WAITING, ConflictQuerySet
from projects.models import Project
from search.columns import search_columns_of

State = Conflict.State
Status = PlaybookDelta.Status
# Newest deltas of an entry whose quotes are shown with it.
QUOTED = 5


class ConflictState(errors.StateConflict):
    """The conflict is decided already."""

    code = "conflict_state"


@dataclass(frozen=True)
class Side:
    """A rule as it stands in an entry, or as a delta proposes it.

    `entry` of a delta is the one that it would change, if any.
    """

    entry: PlaybookEntry | None
    delta: PlaybookDelta | None = None

    @property
    def content(self) -> str:
        if self.delta:
            return self.delta.content
        return self.entry.content if self.entry else ""

    @property
    def condition(self) -> str:
        if self.delta:
            return str(self.delta.payload.get("condition") or "")
        return self.entry.condition if self.entry else ""

    @property
    def action(self) -> str:
        if self.delta:
            return str(self.delta.payload.get("action") or "")
        return self.entry.action if self.entry else ""

    @property
    def version(self) -> int:
        row = self.delta or self.entry
        return row.version if row else 0

    @property
    def status(self) -> str:
        row = self.delta or self.entry
        return row.status if row else PlaybookEntry.Status.DELETED

    @property
    def stands(self) -> bool:
        if self.delta:
            return self.delta.status in WAITING
        return bool(self.entry and self.entry.is_live)

    @property
    def name(self) -> str:
        if self.delta:
            return f"the proposal {self.delta.pk}"
        return self.entry.label if self.entry else "the newer rule"

    @property
    def vector(self) -> Vector | None:
        if self.delta:
            return rejected.recalled(self.delta)
        return self.entry.embedding if self.entry else None


@dataclass(frozen=True)
class Sides:
    """The older rule to the left, the newer one to the right."""

    left: Side
    right: Side


@dataclass(frozen=True)
class Moot:
    """Why nothing is left to decide, and the state that says which of the two stands."""

    state: State
    words: str


def get(conflict_id: uuid.UUID, caller: Caller, role: Role = Role.VIEWER) -> Conflict:
    """A conflict that the caller sees and has the role for, or a refusal."""
    rows = in_full(Conflict.objects.visible_to(caller), caller)
    found = rows.filter(pk=conflict_id).first()
    if found is None:
        raise errors.NotFound(f"There is no conflict {conflict_id}.")
    caller.require(role, found.project_id)
    return found


def of_project(
    project: Project, states: Sequence[str], caller: Caller
) -> QuerySet[Conflict]:
    """The conflicts in these states, or in any, with both of their sides."""
    caller.require(Role.VIEWER, project.pk)
    rows: ConflictQuerySet = Conflict.objects.visible_to(caller)
    rows = rows.filter(project=project)
    return in_full(rows.filter(state__in=states) if states else rows, caller)


def in_full(rows: ConflictQuerySet, caller: Caller) -> QuerySet[Conflict]:
    """With both sides, their quotes and supports, in a fixed number of queries."""
    told = PlaybookDelta.objects.visible_to(caller).exclude(evidence=[])
    told = told.filter(status__in=PlaybookDelta.IN_FORCE).order_by("-pk")[:QUOTED]
    is_done = Q(right=None, delta__status__in=PlaybookDelta.IN_FORCE)
    newer = Case(When(is_done, then=F("delta__entry_id")), default=F("right_id"))
    return (
        light(rows)
        .prefetch_related(
            Prefetch("left__deltas", told, to_attr="quoted"),
            Prefetch("right__deltas", told, to_attr="quoted"),
            Prefetch("delta__entry__deltas", told, to_attr="quoted"),
        )
        .annotate(newer_id=newer)
        .annotate(left_supports=_supports("left"), right_supports=_supports("newer_id"))
    )


def light(rows: ConflictQuerySet) -> QuerySet[Conflict]:
    """With the rows of both sides, without what only search reads."""
    sides = ("left", "right", "delta__entry")
    found: QuerySet[Conflict] = rows.select_related("project", "delta", *sides)
    return found.defer(*search_columns_of(*sides))


def _supports(entry: str) -> Coalesce:
    counted = Support.objects.filter(entry=OuterRef(entry)).order_by()
    each = counted.values("entry").annotate(number=Count("*")).values("number")
    return Coalesce(Subquery(each), 0, output_field=IntegerField())


def sides(conflict: Conflict) -> Sides:
    delta = conflict.delta
    if delta and delta.status not in PlaybookDelta.IN_FORCE:
        return Sides(Side(conflict.left), Side(delta.entry, delta))
    newer = conflict.right or (delta.entry if delta else None)
    return Sides(Side(conflict.left), Side(newer))


def moot(found: Sides) -> Moot | None:
    """What happened meanwhile that leaves nothing to decide, if anything did."""
    if not found.right.stands:
        return Moot(State.REJECTED, f"{found.right.name} is {found.right.status}")
    if not found.left.stands:
        return Moot(State.SUPERSEDED, f"{found.left.name} is {found.left.status}")
    if reason := _why_both_hold(found.left, found.right):
        return Moot(State.SPLIT, f"the two do not disagree any more: {reason}")
    return None


def _why_both_hold(left: Side, right: Side) -> str:
    conditions = [" ".join(s.condition.casefold().split()) for s in (left, right)]
    if all(conditions) and conditions[0] != conditions[1]:
        return "they hold under different conditions"
    if _say_the_same(left, right):
        return "they say the same"
    one, other = left.vector, right.vector
    is_measurable = one and other and one.model == other.model
    if one and other and is_measurable and _cosine(one, other) < neighbours.ALIKE:
        return "they are about different things"
    return ""


def _say_the_same(left: Side, right: Side) -> bool:
    """As the curator would find it, if the two were as near as can be."""
    if disagreement.reason_to_keep_apart(left.content, right.content) or not left.entry:
        return False
    near = neighbours.Neighbour(left.entry, 1.0)
    said = {"condition": right.condition, "action": right.action}
    return neighbours.compare(right.content, near, **said).verdict != "against"


def _cosine(one: Sequence[float], other: Sequence[float]) -> float:
    """Of vectors of length 1."""
    return sum(a * b for a, b in zip(one, other, strict=True))


def audit(conflict: Conflict, caller: Caller, verb: str) -> None:
    trail.record(
        caller,
        f"conflict.{verb}",
        project_id=conflict.project_id,
        object_type="playbook_conflict",
        object_id=conflict.pk,
        state=conflict.state,
        deltas=[str(pk) for pk in conflict.decided_with],
    )
