"""Filter memories by their metadata: docs/api.md, "Filter by metadata"."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import Any, TypeGuard

from django.db.models import Q

Scalar = str | int | float | bool | None
OPERATORS = ("in", "exists")
MAX_KEYS = 10
MAX_VALUES = 100  # of `in`
MAX_LENGTH = 1_000  # characters of a key or of a value
# PostgreSQL's jsonb keeps a number of any size. Python's parser accepts larger numbers than
# a person reads, and a number with a million digits takes long to compare.
MAX_NUMBER = 1e300
# Characters that the parser of bodies replaces. In a query they can be escaped JSON.
UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


class BadMetadataFilter(ValueError):
    """The filter cannot be read; the message says how to write it."""


@dataclass(frozen=True)
class MetadataFilter:
    """One condition on the value of one key."""

    key: str
    operator: str  # "equals", or one of OPERATORS
    value: Any

    @property
    def condition(self) -> Q:
        """Return the condition on rows of memories.

        The index `memory_metadata` serves equality and `in`.
        """
        if self.operator == "equals":
            return _equals(self.key, self.value)
        if self.operator == "in":
            return reduce(or_, (_equals(self.key, each) for each in self.value))
        holds = Q(metadata__has_key=self.key)
        return holds if self.value else ~holds


def parse(data: Mapping[str, Any]) -> tuple[MetadataFilter, ...]:
    """Read the conditions of a request; raise BadMetadataFilter for one that is none."""
    if len(data) > MAX_KEYS:
        raise BadMetadataFilter(f"Filter by {MAX_KEYS} keys at most.")
    return tuple(each for key in data for each in _conditions(key, data[key]))


def _conditions(key: str, asked: Any) -> list[MetadataFilter]:
    if not key or len(key) > MAX_LENGTH or UNSTORABLE.search(key):
        raise BadMetadataFilter(
            f"A key has 1 to {MAX_LENGTH} characters, none of them NUL."
        )
    if not isinstance(asked, dict):
        return [MetadataFilter(key, "equals", _read_scalar(key, asked))]
    unknown = [name for name in asked if name not in OPERATORS]
    if unknown or not asked:
        raise BadMetadataFilter(
            f"{key[:80]}: send a value, or an object with {' or '.join(OPERATORS)}."
        )
    return [MetadataFilter(key, name, _read(key, name, asked[name])) for name in asked]


def _read(key: str, operator: str, value: Any) -> Any:
    if operator == "exists":
        if not isinstance(value, bool):
            raise BadMetadataFilter(f"{key[:80]}: exists is true or false.")
        return value
    if not isinstance(value, list) or not 1 <= len(value) <= MAX_VALUES:
        raise BadMetadataFilter(
            f"{key[:80]}: in is a list of 1 to {MAX_VALUES} values."
        )
    return tuple(_read_scalar(key, each) for each in value)


def _read_scalar(key: str, value: Any) -> Scalar:
    if not _is_scalar(value):
        raise BadMetadataFilter(
            f"{key[:80]}: a value is a text, a number, true, false or null. To match one "
            'of several values, send {"in": [...]}.'
        )
    if isinstance(value, str) and (len(value) > MAX_LENGTH or UNSTORABLE.search(value)):
        raise BadMetadataFilter(
            f"{key[:80]}: a value has {MAX_LENGTH} characters at most, none of them NUL."
        )
    if isinstance(value, int | float) and not -MAX_NUMBER < value < MAX_NUMBER:
        raise BadMetadataFilter(f"{key[:80]}: a number is between -1e300 and 1e300.")
    return value


def _is_scalar(value: Any) -> TypeGuard[Scalar]:
    return value is None or isinstance(value, str | int | float | bool)


def _equals(key: str, value: Scalar) -> Q:
    return Q(metadata__contains={key: value})
