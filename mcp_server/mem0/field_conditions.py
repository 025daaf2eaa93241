"""The conditions of mem0's filters on one field each: docs/mem0.md, "Filters"."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import reduce
from operator import or_
from typing import Any

from django.db.models import F, Func, Q, TextField, Value
from django.db.models.functions import Coalesce
from django.db.models.lookups import (
    Contains,
    Exact,
    GreaterThan,
    GreaterThanOrEqual,
    LessThan,
    LessThanOrEqual,
)

from mcp_server.mem0 import entities
from mcp_server.mem0.moments import BadMoment, read_moment
from mcp_server.mem0.refusals import UnsupportedFilter
from memories import metadata_filter
from memories.metadata_filter import BadMetadataFilter
from projects.project_lookup import parse_id

ANY = "*"
MAX_VALUES, MAX_LENGTH = 100, 1_000  # of `in`; characters of a value
NOBODY: frozenset[str] = frozenset()
# When a memory came about, if somebody said so, or else when it was stored.
CREATED = Coalesce(F("occurred_at"), F("created_at"))
TIMES = {"created_at": CREATED, "timestamp": CREATED, "updated_at": F("updated_at")}
METADATA_OPERATORS = ("eq", "ne", *metadata_filter.OPERATORS)


@dataclass(frozen=True)
class FieldCondition:
    """A condition on one field; `kinds` has the kind of entity that it names, if any.

    `entity` is the id of the entity, if it names exactly one. `values` is how many values
    it compares with.
    """

    query: Q
    kinds: frozenset[str] = NOBODY
    entity: str = ""
    values: int = 1

    @property
    def sure_kinds(self) -> frozenset[str]:
        """The kinds of entities that the condition names for every memory that matches."""
        return self.kinds


def read(name: str, wanted: Any) -> Iterator[FieldCondition]:
    """Read what is wanted of a field; raise UnsupportedFilter for what is not understood."""
    if name not in FIELDS:
        known = ", ".join(["AND", "OR", "NOT", *FIELDS])
        raise UnsupportedFilter(
            f"{name[:40]!r} is no filter; send one of {known}. A key of your own stands in "
            'metadata: {"metadata": {"key": "value"}}.'
        )
    yield from FIELDS[name](name, wanted)


def _read_entity(name: str, wanted: Any) -> Iterator[FieldCondition]:
    if wanted is None:
        yield FieldCondition(~entities.query_any(name), frozenset({name}))
        return
    for operator, value in _operators(name, wanted, ("eq", "ne", "in")):
        if operator == "in":
            values = _texts(name, value)
            query = reduce(or_, (_entity(name, each) for each in values))
            yield FieldCondition(query, frozenset({name}), values=len(values))
            continue
        query = _entity(name, _text(name, value))
        if operator == "ne":
            yield FieldCondition(~query)
        else:
            one = value if value != ANY else ""
            yield FieldCondition(query, frozenset({name}), one)


def _entity(name: str, value: str) -> Q:
    return entities.query_any(name) if value == ANY else entities.query_one(name, value)


def _read_time(name: str, wanted: Any) -> Iterator[FieldCondition]:
    wanted = {"eq": wanted} if not isinstance(wanted, dict) else wanted
    names = ("eq", "ne", "gt", "gte", "lt", "lte")
    for operator, value in _operators(name, wanted, names):
        try:
            first, after = read_moment(value)
        except BadMoment as error:
            raise UnsupportedFilter(f"{name}: {error}") from None
        yield FieldCondition(_compare(TIMES[name], operator, first, after))


def _compare(field: Any, operator: str, first: datetime, after: datetime | None) -> Q:
    """Compare with a moment, or with the whole of a day, which ends at `after`."""
    if operator == "ne":
        return ~_compare(field, "eq", first, after)
    if operator == "gte":
        return Q(GreaterThanOrEqual(field, first))
    if operator == "lt":
        return Q(LessThan(field, first))
    if operator == "gt":
        later = GreaterThanOrEqual(field, after) if after else GreaterThan(field, first)
        return Q(later)
    if operator == "lte":
        until = LessThan(field, after) if after else LessThanOrEqual(field, first)
        return Q(until)
    if after is None:
        return Q(Exact(field, first))
    return Q(GreaterThanOrEqual(field, first)) & Q(LessThan(field, after))


def _read_categories(name: str, wanted: Any) -> Iterator[FieldCondition]:
    for operator, value in _operators(name, wanted, ("eq", "ne", "in", "contains")):
        if operator == "in":
            tags = _texts(name, value)
            yield FieldCondition(Q(tags__overlap=tags), values=len(tags))
        elif operator == "contains":
            yield FieldCondition(Q(Contains(_JoinedTags(), _text(name, value))))
        else:
            has_tag = Q(tags__contains=[_text(name, value)])
            yield FieldCondition(has_tag if operator == "eq" else ~has_tag)


class _JoinedTags(Func):
    """The tags of a memory, a line each."""

    function = "array_to_string"
    output_field = TextField()

    def __init__(self) -> None:
        super().__init__(F("tags"), Value("\n"))


def _read_metadata(name: str, wanted: Any) -> Iterator[FieldCondition]:
    if not isinstance(wanted, dict) or not wanted:
        raise UnsupportedFilter('metadata: send an object: {"key": "value"}.')
    for key, value in wanted.items():
        asked = value if isinstance(value, dict) else {"eq": value}
        for operator, bound in _operators(f"metadata.{key}", asked, METADATA_OPERATORS):
            yield _metadata(key, operator, bound)


def _metadata(key: str, operator: str, bound: Any) -> FieldCondition:
    simple = operator in ("eq", "ne")
    if simple and isinstance(bound, dict):
        raise UnsupportedFilter(f"metadata.{key[:80]}: {operator} has a single value.")
    asked = bound if simple else {operator: bound}
    try:
        (found,) = metadata_filter.parse({key: asked})
    except BadMetadataFilter as error:
        raise UnsupportedFilter(f"metadata: {error}") from None
    query = ~found.condition if operator == "ne" else found.condition
    if operator in metadata_filter.BOUNDS:
        # Without the key the comparison is NULL, and NOT would leave the memory out.
        query = Q(metadata__has_key=key) & query
    return FieldCondition(query, values=len(bound) if operator == "in" else 1)


def _read_keywords(name: str, wanted: Any) -> Iterator[FieldCondition]:
    if not isinstance(wanted, dict):
        raise UnsupportedFilter('keywords: send {"icontains": "a part of the text"}.')
    for operator, value in _operators(name, wanted, ("contains", "icontains")):
        yield FieldCondition(Q(**{f"content__{operator}": _text(name, value)}))


def _read_memory_ids(name: str, wanted: Any) -> Iterator[FieldCondition]:
    if isinstance(wanted, list):
        wanted = {"in": wanted}
    for _, value in _operators(name, wanted, ("in",)):
        ids = {each: parse_id(each) for each in _texts(name, value)}
        if wrong := [each[:64] for each, pk in ids.items() if pk is None]:
            raise UnsupportedFilter(f"{name}: {wrong[0]!r} is no id of a memory.")
        yield FieldCondition(Q(pk__in=list(ids.values())), values=len(ids))


def _operators(
    name: str, wanted: Any, known: Sequence[str]
) -> Iterator[tuple[str, Any]]:
    """Yield the operators of a condition; a text alone means that it is equal."""
    if isinstance(wanted, str):
        wanted = {"eq": wanted}
    if not isinstance(wanted, dict) or not wanted or not wanted.keys() <= {*known}:
        raise UnsupportedFilter(
            f"{name[:80]}: send a value, or an object with {', '.join(known)}."
        )
    yield from wanted.items()


def _text(name: str, value: Any) -> str:
    if not isinstance(value, str) or not 1 <= len(value) <= MAX_LENGTH:
        raise UnsupportedFilter(
            f"{name}: a value is a text of 1 to {MAX_LENGTH} characters."
        )
    return value


def _texts(name: str, value: Any) -> list[str]:
    if not isinstance(value, list) or not 1 <= len(value) <= MAX_VALUES:
        raise UnsupportedFilter(f"{name}: in is a list of 1 to {MAX_VALUES} texts.")
    return [_text(name, each) for each in value]


Reader = Callable[[str, Any], Iterator[FieldCondition]]
FIELDS: Mapping[str, Reader] = {
    **dict.fromkeys(entities.NAMES, _read_entity),
    **dict.fromkeys(TIMES, _read_time),
    "categories": _read_categories,
    "metadata": _read_metadata,
    "keywords": _read_keywords,
    "memory_ids": _read_memory_ids,
}
