"""A `BaseStore` of LangGraph over the service: `pip install agent-memory[langgraph]`."""

from __future__ import annotations

import asyncio
import json
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from langgraph.store.base import (
    BaseStore,
    GetOp,
    Item,
    ListNamespacesOp,
    MatchCondition,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
    TTLConfig,
    get_text_at_path,
    tokenize_path,
    validate_op_namespace,
)
from langgraph.store.base.batch import AsyncBatchedBaseStore

from agent_memory import Client
from agent_memory.adapters.facts import PAGE, NamedFacts, stored_name
from agent_memory.shapes import MemoryOut, ScopeRequest

LABEL = "langgraph"
MAX_QUERY = 10_000  # characters of a query
MAX_CONDITIONS = (
    8  # of the 10 of a filter by metadata, beside the prefix and `searched`
)
MAX_VALUE = 1_000  # characters of a value that a filter by metadata can name
COMPARE: Mapping[str, Callable[[Any, Any], bool]] = {
    "$eq": operator.eq,
    "$ne": operator.ne,
    "$gt": operator.gt,
    "$gte": operator.ge,
    "$lt": operator.lt,
    "$lte": operator.le,
}
WHOLE = ("$",)  # index the whole value, as LangGraph does by default


class StoredItems:
    """The items of a store, each a fact: its namespace and key are the name of the fact."""

    def __init__(
        self, client: Client, *, scope: ScopeRequest, fields: Sequence[str]
    ) -> None:
        self.facts = NamedFacts(client, label=LABEL, scope=scope)
        self.fields = fields

    def apply(self, ops: Sequence[Op]) -> list[Result]:
        """Read for all operations, then write: of several writes to one key, the last."""
        for op in ops:
            validate_op_namespace(op)
        results = self._read(ops)
        self._write([op for op in ops if isinstance(op, PutOp)])
        return results

    def _read(self, ops: Sequence[Op]) -> list[Result]:
        rows = self.facts.find(name_of(op) for op in ops if isinstance(op, GetOp))
        # Stores that collect operations ask the same many times.
        known: dict[str, Result] = {}
        results: list[Result] = []
        for op in ops:
            asked = repr(op)
            if asked not in known:
                known[asked] = self._answer(op, rows)
            results.append(known[asked])
        return results

    def _answer(self, op: Op, rows: Mapping[str, MemoryOut]) -> Result:
        if isinstance(op, SearchOp):
            return self.search(op)
        if isinstance(op, ListNamespacesOp):
            return self.list_namespaces(op)
        if not isinstance(op, GetOp) or name_of(op) not in rows:
            return None
        row = rows[name_of(op)]
        if op.refresh_ttl:
            self._refresh(row)
        return Item(**_fields_of(row))

    def search(self, op: SearchOp) -> list[SearchItem]:
        found = self._find(op) if op.query and op.query.strip() else self._list(op)
        kept = [each for each in found if matches(each[0]["value"], op.filter or {})]
        kept = kept[op.offset : op.offset + op.limit]
        if op.refresh_ttl:
            for row, _ in kept:
                self._refresh(row)
        return [SearchItem(**_fields_of(row), score=score) for row, score in kept]

    def _find(self, op: SearchOp) -> Iterator[tuple[MemoryOut, float | None]]:
        """Yield the best items for a query; the service ranks 100 at most."""
        answer = self.facts.client.search(
            query=str(op.query)[:MAX_QUERY],
            scope=self.facts.scope,
            kinds=["fact"],
            metadata={**_conditions(op), f"{LABEL}.searched": True},
            limit=PAGE if op.filter else min(PAGE, op.offset + op.limit),
        )
        return ((hit["memory"], hit["score"]) for hit in answer["hits"])

    def _list(self, op: SearchOp) -> Iterator[tuple[MemoryOut, float | None]]:
        return ((row, None) for row in self.facts.list(_conditions(op)))

    def list_namespaces(self, op: ListNamespacesOp) -> list[tuple[str, ...]]:
        """Return namespaces in their order; all items of the store are read for it."""
        rows = self.facts.list(fields=["id", "metadata"])
        found = {namespace_of(row) for row in rows}
        conditions = op.match_conditions or ()
        kept = [each for each in found if all(_fits(each, c) for c in conditions)]
        cut = sorted({each[: op.max_depth] for each in kept})
        return cut[op.offset : op.offset + op.limit]

    def _write(self, ops: Sequence[PutOp]) -> None:
        last = {name_of(op): op for op in ops}
        rows = self.facts.find(last)
        for name, op in last.items():
            row = rows.get(name)
            if op.value is not None:
                self._put(name, op, row)
            elif row is not None:
                self.facts.client.memories_delete(row["id"])

    def _put(self, name: str, op: PutOp, row: MemoryOut | None) -> None:
        value = dict(op.value or {})
        texts = self._texts(value, op.index)
        fields: dict[str, Any] = {
            "content": "\n".join(texts),
            "value": value,
            "metadata": {
                f"{LABEL}.namespace": list(op.namespace),
                f"{LABEL}.key": op.key,
                f"{LABEL}.searched": bool(texts),
                f"{LABEL}.ttl": op.ttl,
                **{f"{LABEL}.under.{n}": each for n, each in _prefixes(op.namespace)},
                **{f"value.{k}": v for k, v in value.items() if _is_askable(v)},
            },
            "expires_at": _expiry(op.ttl),
        }
        if row is None or not self.facts.change(row, name, **fields):
            self.facts.add(name, **fields)

    def _texts(self, value: Any, index: bool | Sequence[str] | None) -> list[str]:
        if index is False:
            return []
        fields = self.fields if index is None or index is True else index
        paths = ("$" if each == "$" else tokenize_path(each) for each in fields)
        return [text for path in paths for text in get_text_at_path(value, path)]

    def _refresh(self, row: MemoryOut) -> None:
        if (minutes := row["metadata"][f"{LABEL}.ttl"]) is not None:
            self.facts.client.memories_update(row["id"], expires_at=_expiry(minutes))


def scope_of(name: str) -> ScopeRequest:
    return {"kind": "object", "object_type": LABEL, "object_id": name}


class MemoryStore(BaseStore):
    """A store for graphs; its items belong to a scope of their own, `name`.

    `fields` are the paths of a value that a query searches; by default all of it. The
    service makes the embeddings. Expired items are never returned, and need no sweeper.
    """

    supports_ttl = True

    def __init__(
        self,
        client: Client,
        *,
        name: str = "store",
        fields: Sequence[str] = WHOLE,
        ttl: TTLConfig | None = None,
    ) -> None:
        super().__init__()
        self.ttl_config = ttl
        self.items = StoredItems(client, scope=scope_of(name), fields=fields)

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        return self.items.apply(list(ops))

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        return await asyncio.to_thread(self.batch, list(ops))


class AsyncMemoryStore(AsyncBatchedBaseStore):
    """The same store for one event loop: what is asked at once, it does as one batch."""

    supports_ttl = True

    def __init__(
        self,
        client: Client,
        *,
        name: str = "store",
        fields: Sequence[str] = WHOLE,
        ttl: TTLConfig | None = None,
    ) -> None:
        super().__init__()
        self.ttl_config = ttl
        self.items = StoredItems(client, scope=scope_of(name), fields=fields)

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        return await asyncio.to_thread(self.items.apply, list(ops))


def name_of(op: GetOp | PutOp) -> str:
    return stored_name(json.dumps([*op.namespace, op.key], ensure_ascii=False))


def namespace_of(row: MemoryOut) -> tuple[str, ...]:
    return tuple(row["metadata"][f"{LABEL}.namespace"])


def matches(value: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    """Whether a value has what a filter names: equal values, or `{"$gt": 3}`."""
    return all(_holds(value.get(key), each) for key, each in wanted.items())


def _holds(value: Any, wanted: Any) -> bool:
    if not _is_comparison(wanted):
        return bool(value == wanted)
    try:
        return all(COMPARE[name](value, bound) for name, bound in wanted.items())
    except TypeError:  # a text is not compared with a number
        return False


def _is_comparison(wanted: Any) -> bool:
    return isinstance(wanted, dict) and bool(wanted) and wanted.keys() <= COMPARE.keys()


def _conditions(op: SearchOp) -> dict[str, Any]:
    """Return what of a search the service can filter; `matches` does the rest."""
    depth = len(op.namespace_prefix)
    prefix: dict[str, Any] = (
        {f"{LABEL}.under.{depth}": ".".join(op.namespace_prefix)}
        if depth
        else {LABEL: {"exists": True}}
    )
    wanted = (op.filter or {}).items()
    known = [(f"value.{key}", each) for key, each in wanted if _is_askable(each)]
    return prefix | dict(known[:MAX_CONDITIONS])


def _is_askable(value: Any) -> bool:
    if isinstance(value, str):
        return len(value) <= MAX_VALUE
    return isinstance(value, int | float)


def _prefixes(namespace: tuple[str, ...]) -> Iterator[tuple[int, str]]:
    for n in range(1, len(namespace) + 1):
        yield n, ".".join(namespace[:n])


def _fits(namespace: tuple[str, ...], condition: MatchCondition) -> bool:
    path = condition.path
    if len(namespace) < len(path):
        return False
    is_prefix = condition.match_type == "prefix"
    part = namespace[: len(path)] if is_prefix else namespace[-len(path) :]
    return all(want in ("*", label) for label, want in zip(part, path, strict=True))


def _expiry(minutes: float | None) -> str | None:
    if minutes is None:
        return None
    return (datetime.now(UTC) + timedelta(minutes=minutes)).isoformat()


def _fields_of(row: MemoryOut) -> dict[str, Any]:
    return {
        "value": row["value"],
        "key": row["metadata"][f"{LABEL}.key"],
        "namespace": namespace_of(row),
        "created_at": datetime.fromisoformat(row["created_at"]),
        "updated_at": datetime.fromisoformat(row["updated_at"]),
    }
