"""Requirement 000 as a plain model in memory, without a database and without the product."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

BROADER = {
    "session": {"user", "workspace", "org", "object"},
    "user": {"workspace", "org"},
    "workspace": {"org"},
    "object": {"user", "workspace", "org"},
    "org": set(),
}
EMPTY = {"title": "", "confidence": None, "expires_at": None}
PAST, SOON, LATER = (f"{year}-01-01T00:00:00Z" for year in (2001, 2998, 2999))


class Refusal(Exception):
    def __init__(self, status, code, missing_ids=None):
        super().__init__(f"{status} {code}")
        self.answer = status, code, missing_ids


@dataclass(frozen=True)
class Row:
    """A memory. `promoted_from` and `compacted_from` name rows by their numbers."""

    scope: dict[str, str]
    content: str
    tags: tuple[str, ...] = ()
    metadata: dict[str, Any] = field(default_factory=dict)
    title: str = ""
    confidence: float | None = None
    agent_id: str = "other"
    expires_at: str | None = None
    created_in_session_id: str = ""
    promoted_from: int | None = None
    compacted_from: tuple[int, ...] = ()
    compaction: dict[str, Any] = field(default_factory=dict)

    @property
    def is_expired(self):
        return self.expires_at == PAST


def distinct(values):
    return tuple(dict.fromkeys(values))


def meant(fields, empty=EMPTY):
    """Fields as they are meant: null empties what can be empty; elsewhere it is nothing."""
    given = {name: value for name, value in fields.items() if value is not None}
    emptied = {n: empty[n] for n, v in fields.items() if v is None and n in empty}
    if "tags" in given:
        given["tags"] = distinct(given["tags"])
    return given | emptied


class Model:
    def __init__(self):
        # Every row that ever was, in the order in which the rows were written.
        self.rows: list[Row] = []
        self.deleted: set[int] = set()

    def live(self, scope=None):
        """The rows that are not deleted, expired ones included."""
        return [
            number
            for number, row in enumerate(self.rows)
            if number not in self.deleted and scope in (None, row.scope)
        ]

    def readable(self, scope=None):
        return [n for n in self.live(scope) if not self.rows[n].is_expired]

    def add(self, row):
        self.rows.append(row)
        return len(self.rows) - 1

    def write(self, scope, content, fields):
        return self.add(Row(scope, content, **meant(fields)))

    def get(self, number):
        return self.rows[number] if number in self.readable() else None

    def need(self, number):
        if number not in self.readable():
            raise Refusal(404, "not_found", [number])
        return self.rows[number]

    def update(self, number, patch):
        row, changes = self.need(number), meant(patch)
        if "metadata" in changes:
            changes["metadata"] = row.metadata | changes["metadata"]
        self.rows[number] = replace(row, **changes)
        return number

    def delete(self, number):
        self.deleted.add(number)

    def delete_by_scope(self, scope):
        gone = self.live(scope)
        self.deleted.update(gone)
        return len(gone)

    def retrieve(
        self, scope, *, tags=(), limit=None, order="newest", session=None, since=None
    ):
        found = self.readable(scope)
        if session is not None:
            named = {"kind": "session", "session_id": session}
            found += self.readable(named) + self.readable({**named, **user_of(scope)})
        # Rows are numbered in the order in which they were written.
        found = [n for n in sorted(found) if n >= (since or 0)]
        found = [n for n in found if set(tags) <= set(self.rows[n].tags)]
        size = int(limit) if limit is not None and limit >= 1 else 20
        return (found if order == "oldest" else found[::-1])[:size]

    def promote(self, number, target, wish):
        row = self.need(number)
        if target["kind"] not in BROADER[row.scope["kind"]]:
            raise Refusal(409, "invalid_scope_promotion")
        wish = meant(wish)
        if wish.pop("delete_original", False):
            self.deleted.add(number)
        copy = {
            "scope": target,
            "promoted_from": number,
            "created_in_session_id": row.created_in_session_id
            or row.scope.get("session_id", ""),
        }
        return self.add(replace(row, **copy, **wish))

    def compact(self, sources: Sequence[int], target, content, wish, *, is_dry=False):
        sources = distinct(sources)
        if not sources:
            raise Refusal(400, "invalid")
        if missing := [n for n in sources if n not in self.readable()]:
            raise Refusal(404, "not_found", missing)
        rows = [self.rows[n] for n in sources]
        target = target or rows[0].scope
        if any(row.scope != target for row in rows):
            raise Refusal(409, "mixed_scopes")
        expiries = [row.expires_at for row in rows]
        is_open = wish.get("delete_sources") and "expires_at" not in wish
        if is_open and len(set(expiries)) > 1:
            raise Refusal(409, "expiries_differ")
        inherited = {
            "tags": distinct(tag for row in rows for tag in row.tags),
            "expires_at": min(filter(None, expiries), default=None),
        }
        metadata: dict[str, Any] = {}
        for row in rows:
            metadata = row.metadata | metadata
        given = meant(wish)
        leaves = given.pop("delete_sources", False)
        result = Row(
            **inherited | given | {"metadata": metadata | given.get("metadata", {})},
            scope=target,
            content=content,
            title=shared(rows, "title") or "",
            confidence=shared(rows, "confidence"),
            agent_id=shared(rows, "agent_id") or "other",
            created_in_session_id=shared(rows, "created_in_session_id") or "",
            compacted_from=sources,
            compaction=record(sources, rows),
        )
        if is_dry:
            return result
        if leaves:
            self.deleted.update(sources)
        return self.add(result)

    def sources(self, number):
        """Every row that a row was made from, directly or indirectly, oldest first."""
        found: set[int] = set()
        waiting = [number]
        while waiting:
            row = self.rows[waiting.pop()]
            promoted = [] if row.promoted_from is None else [row.promoted_from]
            new = {*row.compacted_from, *promoted} - found
            found |= new
            waiting += new
        return sorted(found)


def user_of(scope):
    return {"user_id": scope["user_id"]}


def shared(rows, name):
    values = [getattr(row, name) for row in rows]
    return values[0] if all(value == values[0] for value in values) else None


def record(sources, rows):
    """What a compaction records of its generation, and of sources that differ."""
    generation = 1 + max(row.compaction.get("generation", 0) for row in rows)
    differing = [
        name
        for name in ("agent_id", "confidence", "created_in_session_id")
        if shared(rows, name) is None
        and any(getattr(row, name) not in (None, "") for row in rows)
    ] + [
        name
        for name in ("promoted_from", "compacted_from")
        if any(getattr(row, name) not in (None, ()) for row in rows)
    ]
    if not differing:
        return {"generation": generation}
    kept = [
        {"id": number, **{name: getattr(row, name) for name in differing}}
        for number, row in zip(sources, rows, strict=True)
    ]
    return {"generation": generation, "provenance": kept}
