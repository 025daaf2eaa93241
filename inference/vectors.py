from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from inference.errors import BadAnswer


def batches(texts: Sequence[str], *, size: int) -> Iterator[Sequence[str]]:
    for start in range(0, len(texts), size):
        yield texts[start : start + size]


def unit(numbers: object) -> list[float]:
    """Return a provider's vector at length 1; refuse what is no vector."""
    if not isinstance(numbers, list) or not all(map(_is_number, numbers)):
        raise BadAnswer("The embedding provider's vector is not a list of numbers.")
    length = _length(numbers)
    if not math.isfinite(length) or length == 0:
        # The same text gives the same NaN again.
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
