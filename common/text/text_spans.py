"""Places in a text: pairs of a start and an end."""

from __future__ import annotations

from collections.abc import Iterable

TextSpan = tuple[int, int]


def merge_spans(spans: Iterable[TextSpan]) -> list[TextSpan]:
    """Join spans that overlap or touch; `spans` are in the order of their starts."""
    merged: list[TextSpan] = []
    for start, end in spans:
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((start, end))
    return merged
