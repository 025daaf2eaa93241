"""Collect what the service replaced in a request or left out of it; the answer says so."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

import structlog
from django.http import HttpRequest

from common.unknown_fields import UnknownFields, shorten

HEADER = "X-Unknown-Fields"
MAX_LISTED = 20  # places that the notes of one request name
REPLACED = (
    "characters that cannot be stored (NUL, half of a UTF-16 pair) became U+FFFD."
)

log = structlog.get_logger(__name__)


class RequestNotes:
    """The notes about a request.

    `items` is the list of the body whose items have results of their own, if any. A note
    about such an item is for its result.
    """

    def __init__(self, items: str = "") -> None:
        self.items = items
        self.texts: list[str] = []
        self.item_texts: dict[int, list[str]] = {}
        self.unknown_paths: list[str] = []

    def add(self, text: str) -> None:
        """Add a note about the whole request."""
        self._add(text)

    def add_unknown(self, unknown: UnknownFields, item: int | None = None) -> None:
        outer = "" if item is None else f"{self.items}.{item}."
        self.unknown_paths += [f"{outer}{path}" for path in unknown.paths]
        for message in unknown.messages:
            self._add(f"{message} It was ignored.", item)

    def add_replaced(self, paths: Sequence[str]) -> None:
        for path in paths[:MAX_LISTED]:
            item, inside = self._split(path)
            self._add(f"`{shorten(inside)}`: {REPLACED}", item)
        if len(paths) > MAX_LISTED:
            self._add(f"{len(paths) - MAX_LISTED} more texts: {REPLACED}")

    def add_to(self, answer: dict[str, Any]) -> None:
        if self.texts:
            answer["notes"] = [*answer.get("notes", ()), *self.texts]
        for item, texts in self.item_texts.items():
            result = answer["results"][item]
            result["notes"] = [*result["notes"], *texts]

    @property
    def header(self) -> str:
        """Return the unknown fields as printable ASCII, separated by commas."""
        return ", ".join(quote(path, safe=" ()") for path in self.unknown_paths)

    def _add(self, text: str, item: int | None = None) -> None:
        texts = self.texts if item is None else self.item_texts.setdefault(item, [])
        texts.append(text)

    def _split(self, path: str) -> tuple[int | None, str]:
        """Return (the position of the item that has the path, the path inside it)."""
        outer, _, rest = path.partition(".")
        position, _, inside = rest.partition(".")
        if self.items and outer == self.items and inside:
            return int(position), inside
        return None, path


def log_unknown(request: HttpRequest, unknown: UnknownFields, mode: str) -> None:
    """Write a line with the route, so that an operator finds what a client sends wrongly."""
    match = request.resolver_match
    log.warning(
        "unknown_fields",
        mode=mode,
        method=request.method,
        route=match.route if match else "",
        fields=unknown.paths,
    )
