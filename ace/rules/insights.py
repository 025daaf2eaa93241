"""Collect the insights of a task, from its lessons and from the evidence that no lesson uses."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from ace.repairs import commands
from ace.rules import evidence as spans
from ace.rules.evidence import Evidence
from ace.rules.feedback import advice
from ace.rules.task import Task

InsightType = Literal["pattern", "gotcha", "best_practice", "error", "observation"]

MAX_INSIGHTS = 50


@dataclass(frozen=True)
class Insight:
    insight_type: InsightType
    content: str
    confidence: float
    evidence: tuple[Evidence, ...]


def collect(
    task: Task, evidence: Iterable[Evidence], known: Sequence[Insight]
) -> list[Insight]:
    """Return the known insights, then insights from the evidence that no lesson uses."""
    return [*known, *_unused_evidence(task, evidence, known)][:MAX_INSIGHTS]


def _unused_evidence(
    task: Task, evidence: Iterable[Evidence], known: Iterable[Insight]
) -> Iterator[Insight]:
    """Yield one insight for each signature of evidence that no lesson uses."""
    seen = {span.signature for insight in known for span in insight.evidence}
    for span in spans.strongest_per_call(task, evidence):
        if span.signature not in seen:
            seen.add(span.signature)
            insight = _insight(task, span)
            if insight:
                yield insight


def _insight(task: Task, span: Evidence) -> Insight | None:
    if span.kind in ("failed_call", "fixed_call", "exit_code"):
        return None
    if span.kind in advice.KINDS:
        return Insight("observation", span.message, 0.3, (span,))
    name = _tool_of(task, span)
    if span.kind == "loop":
        text = f"`{name}` was repeated with the same arguments and the same result."
        return Insight("gotcha", text, 0.5, (span,))
    if span.kind == "no_check":
        text = f"The last change, by `{name}`, was not followed by any check."
        return Insight("observation", text, 0.4, (span,))
    return Insight("error", _error_text(span, name), 0.5, (span,))


def _tool_of(task: Task, span: Evidence) -> str:
    call = task.call(span.field)
    return commands.tool_label(call) if call else ""


def _error_text(span: Evidence, name: str) -> str:
    has_type = span.error_type not in ("", span.kind)
    kind = f"{span.error_type}: " if has_type else ""
    text = f"{kind}{' '.join(span.message.split())}"
    return f"`{name}` failed: {text}" if name else text
