"""Tell which candidates of a search wait for their vectors, and how many rows do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from django.db.models import QuerySet

from inference.embedding import reembed
from inference.embedding.vector import Vector
from search import semantic
from search.search_plan import Candidate

MAX_COUNT = 1_000  # a count of more rows would take longer than the search


class MissingVectors(NamedTuple):
    """The share of the candidates by words that the semantic lane knows, and a note."""

    coverage: float = 1.0
    notes: tuple[str, ...] = ()


def look(
    rows: QuerySet[Any], found: Sequence[Candidate], vector: Vector | None
) -> MissingVectors:
    """Look for candidates that have no vector yet; rows that will never have one do not count."""
    without = [each.id for each in found if each.cosine is None]
    if vector is None or not without:
        return MissingVectors()
    table = reembed.table_of(semantic.vectors_of(rows.model).related_model)
    waiting = table.waiting(vector.model).order_by()
    due = waiting.filter(pk__in=without).count()
    if not due:
        return MissingVectors()
    by_words = sum(each.keyword > 0 for each in found)
    searched = waiting.filter(pk__in=rows.order_by().values("pk"))
    return MissingVectors(1 - due / by_words, (_note(searched),))


def _note(waiting: QuerySet[Any]) -> str:
    count = waiting[: MAX_COUNT + 1].count()
    number = f"more than {MAX_COUNT:,}" if count > MAX_COUNT else f"{count:,}"
    return f"{number} of the searched texts wait for a vector and are ranked by their words"
