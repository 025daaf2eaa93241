"""A run's lessons on admin pages: each quote marked in the field it was cut from."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from django.utils.safestring import SafeString

from ace.models import AceRun, Observation, Reflection
from ace.rules import task as tasks
from common import panels
from common.panels import IN_PANEL, Panel, moment, words

TextOf = Callable[[str], str]


def texts_of(run: AceRun) -> TextOf:
    """The run's texts by the names that quotes give them; blank for no such field."""
    task = tasks.parse(run.request)

    def text(field: str) -> str:
        try:
            return task.text(field)
        except KeyError:
            return ""

    return text


def phases_of(run: AceRun) -> Panel:
    known = [
        (name, told) for name, told in run.phases.items() if isinstance(told, dict)
    ]
    phases = sorted(known, key=lambda phase: str(phase[1].get("at")))
    return panels.table(
        "Phases",
        ["Phase", "Status", "At", "Took", "Error"],
        (
            [
                name,
                phase.get("status", ""),
                moment(phase.get("at")),
                f"{phase['took_ms']:,} ms" if "took_ms" in phase else "",
                panels.block(phase.get("error") or "", 2_000),
            ]
            for name, phase in phases
        ),
        empty="No phase has run yet.",
    )


def calls_of(run: AceRun) -> Panel:
    """The task's tool calls, whatever shape they were sent in."""
    calls = run.request.get("tool_usage") or []
    return panels.table(
        "Tool calls",
        ["", "Call"],
        (
            [number, panels.plain_json(call, 1_500)]
            for number, call in enumerate(calls, start=1)
        ),
        empty="None.",
    )


def by(found: Reflection) -> SafeString:
    return words(f"{found.producer} {found.producer_name}", 60)


def reflection_of(found: Reflection) -> Panel:
    told = [
        ["outcome", f"{found.outcome} by {found.outcome_source}"],
        ["confidence", f"{found.outcome_confidence:.2f}"],
        ["reflected by", by(found)],
        ["notes", words(" · ".join(map(str, found.notes)), IN_PANEL)],
        ["why", words(found.outcome_reason, IN_PANEL)],
        ["abstained", words(found.abstained, IN_PANEL)],
        ["error", words(found.error_identification, IN_PANEL)],
        ["root cause", words(found.root_cause, 60)],
        ["correct approach", words(found.correct_approach, IN_PANEL)],
        ["key insight", words(found.key_insight, IN_PANEL)],
        ["votes", panels.plain_json(found.votes, 2_000)],
    ]
    return Panel("Reflection", ["", ""], [line for line in told if line[1]])


def lessons_of(lessons: Iterable[Any], text_of: TextOf) -> Panel:
    """Each lesson with its quotes, a line for each quote."""
    return panels.table(
        "Lessons",
        ["Lesson", "Root cause", "Field", "Where it stands there"],
        (
            [
                words(lesson.get("content", ""), IN_PANEL) if first else "",
                words(lesson.get("root_cause", ""), 40) if first else "",
                words(quote.get("field", ""), 60),
                marked(quote, text_of),
            ]
            for lesson in lessons
            if isinstance(lesson, dict)
            for first, quote in _numbered(lesson.get("evidence"))
        ),
        empty="No lesson.",
        most=200,
    )


def evidence_of(quotes: Iterable[Any], text_of: TextOf) -> Panel:
    return panels.table(
        "Evidence",
        ["Field", "From", "To", "Where it stands there"],
        (
            [
                words(quote.get("field", ""), 60),
                quote.get("start"),
                quote.get("end"),
                marked(quote, text_of),
            ]
            for quote in quotes
            if isinstance(quote, dict)
        ),
        empty="No quote.",
    )


def observations_of(rows: Iterable[Observation]) -> Panel:
    return panels.table(
        "Observations",
        ["When", "Root cause", "Seen", "Mended by"],
        (
            [
                moment(row.created_at),
                words(row.root_cause, 40),
                words(row.seen.get("quote", ""), IN_PANEL),
                words(row.seen.get("mended_by", ""), IN_PANEL),
            ]
            for row in rows
        ),
        empty="None.",
    )


def marked(quote: dict[str, Any], text_of: TextOf) -> Any:
    """The quote with the text around it; alone where it does not stand there."""
    text = text_of(str(quote.get("field", "")))
    start, end = quote.get("start"), quote.get("end")
    told = str(quote.get("quote", ""))
    if isinstance(start, int) and isinstance(end, int) and text[start:end] == told:
        return panels.marked(text, start, end)
    return panels.block(told, 2_000)


def _numbered(quotes: Any) -> Iterable[tuple[bool, dict[str, Any]]]:
    held = [quote for quote in quotes or [] if isinstance(quote, dict)]
    return ((number == 0, quote) for number, quote in enumerate(held or [{}]))
