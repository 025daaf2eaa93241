"""Facts of one scope that a framework finds by its own names."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import quote

from agent_memory import Client, Problem
from agent_memory.shapes import MemoryOut, ScopeRequest

PAGE = 100  # rows of a page, and names in a filter: docs/limits.md of the service
MAX_KEY = 255  # characters of a memory's key
# Bytes of names in a URL; the line of a request has 4,094 at most. One name always fits.
MAX_FILTER = 3_100
MAX_CONTENT = 50_000  # characters of a memory's content; its value has no limit


class NamedFacts:
    """The facts of one scope that have a name under `label` in their metadata.

    A fact's `content` is what a search finds, and its `value` is what the framework stored.
    The service keeps one current fact for each name, and the history of each.
    """

    def __init__(self, client: Client, *, label: str, scope: ScopeRequest) -> None:
        self.client = client
        self.label = label
        self.scope = scope

    def find(self, names: Iterable[str]) -> dict[str, MemoryOut]:
        """Return the facts with these names, by name; a name without a fact is left out."""
        asked = {stored_name(name): name for name in names}
        rows = (
            row
            for part in split(asked)
            for row in self.list({self.label: {"in": part}})
        )
        return {asked[row["metadata"][self.label]]: row for row in rows}

    def list(
        self, where: Mapping[str, Any] | None = None, **options: Any
    ) -> Iterator[MemoryOut]:
        """Yield the facts whose metadata match, the newest first."""
        scope: dict[str, Any] = {**self.scope}
        page = self.client.memories_list(
            scope=scope.pop("kind"),
            kinds=["fact"],
            metadata=write_json(where or {self.label: {"exists": True}}),
            limit=PAGE,
            **scope,
            **options,
        )
        return self.client.follow(page)

    def add(self, name: str, **fields: Any) -> str:
        """Store a fact and return its id; one with the same name is superseded."""
        receipt = self.client.memories_create(
            kind="fact",
            key=stored_name(name),
            scope=self.scope,
            **self._complete(name, fields),
        )
        # Null only for what is rejected, and that is a Problem.
        return str(receipt["id"])

    def change(self, row: MemoryOut, name: str, **fields: Any) -> bool:
        """Change a fact; return False if it has been deleted or has expired.

        With `version`, raise Problem 409 if somebody else has changed it since.
        """
        # The service merges metadata: what the new ones do not have is set to null.
        fields["metadata"] = dict.fromkeys(row["metadata"]) | fields["metadata"]
        try:
            self.client.memories_update(row["id"], **self._complete(name, fields))
        except Problem as problem:
            if problem.status == 404:
                return False
            raise
        return True

    def _complete(self, name: str, fields: dict[str, Any]) -> dict[str, Any]:
        """Return the fields of a memory; a blank content, which it cannot have, is the name."""
        content = fields["content"][:MAX_CONTENT]
        metadata = fields["metadata"] | {self.label: stored_name(name)}
        text = content if content.strip() else name[:MAX_CONTENT]
        return fields | {"content": text, "metadata": metadata}


def split(names: Iterable[str]) -> Iterator[list[str]]:
    """Yield the names in parts that a filter in a URL has room for."""
    part: list[str] = []
    for name in names:
        if len(part) == PAGE or len(quote(write_json([*part, name]))) > MAX_FILTER:
            yield part
            part = []
        part.append(name)
    if part:
        yield part


def write_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def stored_name(name: str) -> str:
    """Return a name as it is stored: one that is too long for a key, by its hash."""
    if len(name) <= MAX_KEY:
        return name
    return f"sha256:{hashlib.sha256(name.encode()).hexdigest()}"
