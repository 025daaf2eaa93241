"""Paginate a list that is not ordered by id."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet
from rest_framework.request import Request
from rest_framework.utils.urls import replace_query_param

from common.pagination import Cursor, IdCursorPagination, InvalidCursor


@dataclass(frozen=True)
class OrderedPage:
    """The ids of a page in order, and the links to the previous and the next page."""

    ids: list[uuid.UUID]
    next: str | None
    previous: str | None


def paginate(
    ids: Sequence[uuid.UUID], rows: QuerySet[Any], request: Request
) -> OrderedPage:
    """Return the requested page of ordered ids.

    The cursor holds the id at the edge of a page. Raises InvalidCursor if the list no
    longer contains this id.
    """
    limit = IdCursorPagination.limit(request)
    start = _start(ids, rows, request, limit)
    end = min(start + limit, len(ids))
    older = Cursor("older", ids[end - 1]) if end < len(ids) else None
    newer = Cursor("newer", ids[start]) if start > 0 and ids else None
    return OrderedPage(
        list(ids[start:end]), _link(request, older), _link(request, newer)
    )


def _start(
    ids: Sequence[uuid.UUID], rows: QuerySet[Any], request: Request, limit: int
) -> int:
    value = request.query_params.get("cursor")
    if not value:
        return 0
    cursor = Cursor.parse(value, rows)
    if cursor.edge not in ids:
        raise InvalidCursor
    edge = ids.index(cursor.edge)
    return edge + 1 if cursor.side == "older" else max(edge - limit, 0)


def _link(request: Request, cursor: Cursor | None) -> str | None:
    if cursor is None:
        return None
    return replace_query_param(request.build_absolute_uri(), "cursor", str(cursor))
