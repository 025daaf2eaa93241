"""Write a decision as lines: when, where, and the words."""

from __future__ import annotations

from collections.abc import Iterator

from context.decisions.decide import Decision


def write(decision: Decision) -> str:
    return "\n".join(_lines(decision))


def _lines(decision: Decision) -> Iterator[str]:
    kind = "commit" if decision.answer.is_commit else "conversation"
    later = " (later: it holds where they differ)" if decision.answer.is_latest else ""
    yield f"- {decision.quote.moment:%Y-%m-%d}, {kind}{later}:"
    yield from decision.quote.lines
