"""A page of a list."""

from __future__ import annotations

from typing import Generic, TypedDict, TypeVar

T = TypeVar("T")


class Page(TypedDict, Generic[T]):
    """Some rows, and the addresses of the pages beside them."""

    results: list[T]
    next: str | None
    previous: str | None
