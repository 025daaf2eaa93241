"""A paginator for large tables that stops counting at a limit."""

from __future__ import annotations

from typing import Any

from django.core.paginator import Paginator
from django.db.models import QuerySet
from django.utils.functional import cached_property

COUNT_LIMIT = 10_000


class BoundedPaginator(Paginator):  # type: ignore[type-arg]  # not generic at run time
    """Count only up to the limit, because an exact COUNT of a large list takes seconds."""

    template_name = "admin/pagination.html"

    @cached_property
    def count(self) -> int:
        rows: Any = self.object_list
        return count_bounded(rows) if isinstance(rows, QuerySet) else len(rows)

    @property
    def count_text(self) -> str:
        return format_count(self.count)


def count_bounded(rows: QuerySet[Any]) -> int:
    """Count the rows, but stop at COUNT_LIMIT + 1."""
    return rows.order_by()[: COUNT_LIMIT + 1].count()


def format_count(count: int) -> str:
    return f"{COUNT_LIMIT:,}+" if count > COUNT_LIMIT else f"{count:,}"
