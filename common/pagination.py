"""Cursor pagination by id, so that pages stay stable while rows are added."""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from django.core.exceptions import ValidationError
from django.db.models import Model, QuerySet
from rest_framework.pagination import BasePagination
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.utils.urls import replace_query_param

from common import errors

DEFAULT_LIMIT = 20
MAX_LIMIT = 100  # docs/limits.md, "A request"

Side = Literal["older", "newer"]


class InvalidCursor(errors.Refusal):
    """No page returned this cursor; start again without a cursor."""

    code = "invalid_cursor"


@dataclass(frozen=True)
class Cursor:
    """The id at the edge of a page, and on which side of this id to read."""

    side: Side
    edge: Any

    def __str__(self) -> str:
        return urlsafe_b64encode(f"{self.side}:{self.edge}".encode()).decode()

    @classmethod
    def parse(cls, text: str, rows: QuerySet[Any]) -> Cursor:
        try:
            side, _, edge = urlsafe_b64decode(text.encode()).decode().partition(":")
            key = rows.model._meta.pk.to_python(edge)
        except (ValueError, ValidationError):
            raise InvalidCursor from None
        if key is None or side not in ("older", "newer"):
            raise InvalidCursor
        return cls("older" if side == "older" else "newer", key)


class IdCursorPagination(BasePagination):
    """Read the newest rows first, or the oldest first; `next` continues in the same order."""

    def __init__(self, *, oldest_first: bool = False, limit: int | None = None) -> None:
        """Take `limit` from the view, or else from the request's query."""
        self.oldest_first = oldest_first
        self.view_limit = limit

    def paginate_queryset(  # type: ignore[override]  # a list cannot be paged by id
        self, queryset: QuerySet[Any], request: Request, view: Any = None
    ) -> list[Any]:
        """Read one row more than the limit; the extra row shows whether another page exists."""
        self.request = request
        limit = self.view_limit or self.limit(request)
        text = request.query_params.get("cursor")
        cursor = Cursor.parse(text, queryset) if text else None
        forward: Side = "newer" if self.oldest_first else "older"
        side = cursor.side if cursor else forward
        results = list(_rows_beyond(queryset, cursor, side)[: limit + 1])
        has_more = len(results) > limit
        rows = results[:limit] if side == forward else results[:limit][::-1]
        self.has_next = has_more if side == forward else True
        self.has_previous = cursor is not None if side == forward else has_more
        self.rows: Sequence[Model] = rows
        return rows

    @staticmethod
    def limit(request: Request) -> int:
        text = request.query_params.get("limit", str(DEFAULT_LIMIT))
        is_number = text.isascii() and text.isdigit() and len(text) < 9
        if is_number and 1 <= int(text) <= MAX_LIMIT:
            return int(text)
        raise errors.Invalid(
            errors={"limit": [f"must be a whole number from 1 to {MAX_LIMIT}"]}
        )

    def get_paginated_response(self, data: Any) -> Response:
        return Response({"results": data, "next": self.next, "previous": self.previous})

    @property
    def next(self) -> str | None:
        if not (self.has_next and self.rows):
            return None
        return self.link(
            Cursor("newer" if self.oldest_first else "older", self.rows[-1].pk)
        )

    @property
    def previous(self) -> str | None:
        if not (self.has_previous and self.rows):
            return None
        return self.link(
            Cursor("older" if self.oldest_first else "newer", self.rows[0].pk)
        )

    def link(self, cursor: Cursor) -> str:
        address = self.request.build_absolute_uri()
        return replace_query_param(address, "cursor", str(cursor))


def _rows_beyond(
    queryset: QuerySet[Any], cursor: Cursor | None, side: Side
) -> QuerySet[Any]:
    """Return the rows on one side of a cursor, nearest first."""
    if side == "newer":
        newer = queryset.filter(pk__gt=cursor.edge) if cursor else queryset
        return newer.order_by("pk")
    older = queryset.filter(pk__lt=cursor.edge) if cursor else queryset
    return older.order_by("-pk")
