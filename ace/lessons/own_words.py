"""Read the lessons that an agent sends with its finished task, in its own words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from playbook.lessons.lesson import Kind, Lesson, Producer, Quote

CONFIDENCE = 0.3


def read(request: Mapping[str, Any]) -> list[Lesson]:
    """Return the lessons of a request. The intake looks for their quotes in the task."""
    return [
        Lesson(
            content=" ".join(str(sent["content"]).split()),
            kind=Kind.FACT,
            quotes=tuple(Quote(quote) for quote in sent.get("quotes", ())),
            applies_to=tuple(sent.get("applies_to", ())),
            category="general",
            producer=Producer.AGENT,
            producer_name=str(request.get("agent_id") or "")[:100],
            confidence=CONFIDENCE,
        )
        for sent in request.get("lessons", ())
    ]
