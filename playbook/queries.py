from __future__ import annotations

from typing import Any, Self, TypeVar

from django.db import models

from common.caller import Caller
from memories.models import Memory
from projects.models import Project

M = TypeVar("M", bound=models.Model)


class InProject(models.QuerySet[M]):
    """Rows that are reached through their project, and only so."""

    def visible_to(self, caller: Caller) -> Self:
        return self.filter(project_id__in=Project.objects.visible_to(caller))


class EntryQuerySet(InProject[Any]):
    def current(self) -> Self:
        return self.filter(status="active")

    def light(self) -> Self:
        """Without the search columns, which only search reads."""
        return self.defer("content_tsv", "content_terms")


class DeltaQuerySet(InProject[Any]):
    def visible_to(self, caller: Caller) -> Self:
        """A bound user sees no quotes from the private memories of another one."""
        rows = super().visible_to(caller)
        if not caller.user_id:
            return rows
        seen = Memory.objects.visible_to(caller).values("pk")
        return rows.filter(models.Q(memory_id=None) | models.Q(memory_id__in=seen))

    def waiting(self) -> Self:
        return self.filter(status="pending")


class ConflictQuerySet(InProject[Any]):
    def visible_to(self, caller: Caller) -> Self:
        """As for deltas: a side that waits is hidden with the memory that it is from."""
        rows = super().visible_to(caller)
        if not caller.user_id:
            return rows
        seen = Memory.objects.visible_to(caller).values("pk")
        return rows.filter(
            models.Q(delta__memory_id=None) | models.Q(delta__memory_id__in=seen)
        )

    def undecided(self) -> Self:
        return self.filter(state="open")

    def of_pair(self, entry: Any, delta: Any) -> Self:
        """Between an entry and what a delta brings: its entry, or its waiting text."""
        same = models.Q(left=entry, delta__similarity_hash=delta.similarity_hash)
        if delta.status in delta.IN_FORCE and delta.entry_id:
            same |= models.Q(left=entry, right=delta.entry_id)
            same |= models.Q(left=delta.entry_id, right=entry)
        return self.filter(same)


class ChangeQuerySet(InProject[Any]):
    def in_order(self) -> Self:
        return self.order_by("revision", "position")
