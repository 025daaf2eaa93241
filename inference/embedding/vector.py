"""Vectors: normalised lists of numbers that know the model that made them."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeVar

from common.text.text_spans import TextSpan
from inference.errors import BadAnswer

T = TypeVar("T")


def batches(items: Sequence[T], *, size: int) -> Iterator[Sequence[T]]:
    for start in range(0, len(items), size):
        yield items[start : start + size]


def normalise(numbers: object) -> list[float]:
    """Scale a provider's vector to length 1; raise BadAnswer if it is not a vector."""
    if not isinstance(numbers, list) or not all(map(_is_number, numbers)):
        raise BadAnswer("The embedding provider's vector is not a list of numbers.")
    length = _length(numbers)
    if not math.isfinite(length) or length == 0:
        # The error is not retryable, because the same text gives the same NaN again.
        raise BadAnswer(
            "The embedding provider's vector has no direction: it is empty, zero, "
            "infinite or not a number.",
            retryable=False,
        )
    return [number / length for number in numbers]


def _length(numbers: Sequence[float]) -> float:
    try:
        return math.hypot(*numbers)
    except OverflowError:  # JSON allows integers that no float can hold
        return math.inf


def _is_number(value: object) -> bool:
    return isinstance(value, float) or type(value) is int


class Vector(list[float]):
    """A vector and the model that made it. Only vectors of one model can be compared.

    `span` is the part of a long text that the vector stands for; None for a whole text.
    """

    def __init__(
        self, values: Iterable[float], *, model: str, span: TextSpan | None = None
    ) -> None:
        super().__init__(values)
        self.model = model
        self.span = span

    @functools.cached_property
    def text(self) -> str:
        """The vector as an SQL literal, with enough digits to distinguish all 32-bit numbers.

        Tables hold 16 bits of each number. The literal is cached, because the insert and
        the neighbour query both use it.
        """
        return "[" + ",".join(["%.9g"] * len(self)) % tuple(self) + "]"

    def cosine(self, other: Vector) -> float:
        """Return the cosine of two vectors of length 1; all providers return such vectors."""
        return math.fsum(map(operator.mul, self, other))


class StoredVector:
    """The mixin of all tables of vectors."""

    model: Any
    embedding: Any

    @property
    def vector(self) -> Vector:
        return Vector(self.embedding, model=self.model)
