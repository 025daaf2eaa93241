from __future__ import annotations

from typing import Any, Self, TypeVar

from django.db import models

from common.caller import Caller
from memories.models import Memory
from projects.models import Project
from search.columns import SEARCH_COLUMNS, search_columns_of

M = TypeVar("M", bound=models.Model)
# The order of the inbox; the index `delta_inbox` holds these expressions. What is in
# quarantine has a place of its own, after the rest.
RISK_RANK = models.Case(
    models.When(risk="high", then=0),
    models.When(risk="medium", then=1),
    models.When(risk="low", then=2),
    default=3,
    output_field=models.SmallIntegerField(),
)
QUOTE_COUNT = models.Func(
    "evidence", function="jsonb_array_length", output_field=models.IntegerField()
)
WAITING_STATUSES = ["pending", "stale"]
UNDECIDED = models.Q(status__in=WAITING_STATUSES)
# Sources of feedback that are more than the agent's own word.
TRUSTED_SOURCES = ["test", "environment", "human"]
# A rejection that only repeats an earlier one is counted there.
REFUSED_ONCE = models.Q(status="rejected") & ~models.Q(payload__has_key="repeats")
# Changes that move nothing but counters and supports.
USE_CHANGES = models.Q(action__in=["vote", "support"])


class ProjectScopedQuerySet(models.QuerySet[M]):
    """Rows that are reached through their project, and only so."""

    def visible_to(self, caller: Caller) -> Self:
        return self.filter(project_id__in=Project.objects.visible_to(caller))


class EntryQuerySet(ProjectScopedQuerySet[Any]):
    def current(self) -> Self:
        return self.filter(status="active")

    def inactive(self) -> Self:
        """Taken out; what another entry has taken up is not."""
        return self.filter(status__in=["deprecated", "deleted"])

    def light(self) -> Self:
        """Without what only search reads."""
        return self.defer(*SEARCH_COLUMNS)


class DeltaQuerySet(ProjectScopedQuerySet[Any]):
    def visible_to(self, caller: Caller) -> Self:
        """A bound user sees no quotes from the private memories of another one."""
        rows = super().visible_to(caller)
        if not caller.user_id:
            return rows
        seen = Memory.objects.visible_to(caller).values("pk")
        return rows.filter(models.Q(memory_id=None) | models.Q(memory_id__in=seen))

    def pending(self) -> Self:
        return self.filter(status="pending")

    def awaiting_decision(self) -> Self:
        """What waits for a person, or for its entry to be looked at again."""
        return self.filter(UNDECIDED)

    def first_rejections(self) -> Self:
        return self.filter(REFUSED_ONCE)

    def riskiest_first(self) -> Self:
        """Then what has the most quotes, then the oldest."""
        return self.order_by(RISK_RANK, QUOTE_COUNT.desc(), "pk")

    def with_entry(self) -> Self:
        """With the entry and the project, without what only search reads."""
        heavy = search_columns_of("entry")
        return self.select_related("project", "entry").defer(*heavy)


class ConflictQuerySet(ProjectScopedQuerySet[Any]):
    def visible_to(self, caller: Caller) -> Self:
        """As for deltas: a side that waits is hidden with the memory that it is from."""
        rows = super().visible_to(caller)
        if not caller.user_id:
            return rows
        seen = Memory.objects.visible_to(caller).values("pk")
        return rows.filter(
            models.Q(delta__memory_id=None) | models.Q(delta__memory_id__in=seen)
        )

    def unresolved(self) -> Self:
        return self.filter(state="open")

    def hiding_entry(self, entry: Any) -> Self:
        """The open ones for which an entry is not given until a person has decided.

        A proposal that only waits shuts out the older side alone, and that neither on
        the agent's own word nor if a person wrote or locked it: anybody who may propose
        could take a rule away.
        """
        stands = models.Q(delta=None) | ~models.Q(delta__status__in=WAITING_STATUSES)
        is_own = models.Q(left__locked=True) | models.Q(left__author_kind="human")
        told = models.Q(delta__payload__feedback_source__in=TRUSTED_SOURCES) & ~is_own
        is_older = models.Q(left=entry) & (stands | told)
        is_newer = models.Q(right=entry) & stands
        return self.unresolved().filter(is_older | is_newer)

    def of_pair(self, entry: Any, delta: Any) -> Self:
        """Between an entry and what a delta brings: its entry, or its waiting text."""
        same = models.Q(left=entry, delta__similarity_hash=delta.similarity_hash)
        if delta.status in delta.IN_FORCE and delta.entry_id:
            same |= models.Q(left=entry, right=delta.entry_id)
            same |= models.Q(left=delta.entry_id, right=entry)
        return self.filter(same)


class PlaybookChangeQuerySet(ProjectScopedQuerySet[Any]):
    def without_use(self) -> Self:
        """Without votes and supports, of which an entry of long use has thousands."""
        return self.exclude(USE_CHANGES)

    def never_reverted(self) -> Self:
        """Changes that are no reverts and that none names: all of them in force."""
        reverts = self.model.objects.filter(
            project_id=models.OuterRef("project_id"), reverts_id=models.OuterRef("pk")
        )
        return self.filter(~models.Exists(reverts), reverts_id=None)

    def in_order(self) -> Self:
        return self.order_by("revision", "position")
