"""Panels of a run on admin pages. Each quote is marked in the text around it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django.utils.html import format_html
from django.utils.safestring import SafeString

from ace.models import AceRun, Observation, Reflection
from ace.run_texts import TextReader
from common.admin import panels
from common.admin.panels import PANEL_LIMIT, Panel, format_time, row_link, short_text
from common.caller import Caller
from memories.admin.status import status_of
from memories.models import Memory
from playbook.models import PlaybookDelta

MAX_DELTAS = panels.ROW_LIMIT  # deltas that the page of a run lists
OUTCOME_COLOURS = {
    "success": "success",
    "partial": "warning",
    "failure": "danger",
    "unknown": "default",
}


def quote_panels(query: Mapping[str, str], text_of: TextReader) -> Iterable[Panel]:
    """Yield a panel with the quote that the URL parameters field, start and end locate.

    Yield nothing if the run has no such field.
    """
    text, ends = text_of(query.get("field", "")), (query.get("start"), query.get("end"))
    if not text or not all(end and end.isdecimal() and len(end) < 10 for end in ends):
        return
    start, end = (min(int(end or 0), len(text)) for end in ends)
    block = panels.highlight(text, start, max(start, end))
    yield Panel(f"The quote in {query['field'][:200]}", [""], [[block]])


def phases_panel(run: AceRun) -> Panel:
    known = [
        (name, phase) for name, phase in run.phases.items() if isinstance(phase, dict)
    ]
    phases = sorted(known, key=lambda phase: str(phase[1].get("at")))
    return panels.table(
        "Phases",
        ["Phase", "Status", "Share of the time", "Duration", "At", "Error"],
        (
            [
                short_text(name, 60),
                short_text(phase.get("status", ""), 60),
                bar,
                f"{phase['took_ms']:,} ms" if "took_ms" in phase else "",
                format_time(phase.get("at")),
                panels.text_block(phase.get("error") or "", 2_000),
            ]
            for (name, phase), bar in zip(phases, _bars(phases), strict=True)
        ),
        empty="No phase has run yet.",
    )


def _bars(phases: Sequence[tuple[str, dict[str, Any]]]) -> Iterable[SafeString]:
    """Yield a bar for each phase; its width is the phase's share of the total time.

    Each bar starts where the bar of the previous phase ends.
    """
    spent = [float(phase.get("took_ms") or 0) for _, phase in phases]
    whole = sum(spent) or 1
    for number, took in enumerate(spent):
        yield format_html(
            '<svg class="am-bar" viewBox="0 0 100 1" preserveAspectRatio="none" '
            'aria-hidden="true"><rect x="{}" width="{}" height="1"/></svg>',
            f"{100 * sum(spent[:number]) / whole:.2f}",
            f"{100 * took / whole:.2f}",
        )


def result_panel(run: AceRun, caller: Caller) -> Panel:
    """List the memory of a run and its deltas, each with its current status."""
    deltas = PlaybookDelta.objects.visible_to(caller).filter(run_id=run.pk)
    return panels.table(
        "Results",
        ["Kind", "Text", "Status", "Entry", "Status of the entry"],
        [
            *_memory_line(run, caller),
            *map(_delta_line, deltas.with_entry()[:MAX_DELTAS]),
        ],
        empty="Nothing yet.",
    )


def _memory_line(run: AceRun, caller: Caller) -> Iterable[list[Any]]:
    rows = Memory.objects.visible_to(caller).light()
    memory = rows.filter(pk=run.memory_id).first()
    if memory:
        link = row_link("memories_memory", memory.pk, memory, PANEL_LIMIT)
        yield ["memory", link, status_of(memory), "", ""]


def _delta_line(delta: PlaybookDelta) -> list[Any]:
    entry = delta.entry
    return [
        row_link(
            "playbook_playbookdelta", delta.pk, delta.operation, panels.SHORT_LIMIT
        ),
        short_text(delta.content or delta.reason, PANEL_LIMIT),
        delta.status,
        row_link("playbook_playbookentry", entry.pk, entry.label, 60) if entry else "",
        entry.status if entry else "",
    ]


def calls_panel(run: AceRun) -> Panel:
    """List the tool calls of the task in the order of the request."""
    calls = run.request.get("tool_usage") or []
    return panels.table(
        "Tool calls",
        ["", "Call"],
        (
            [number, panels.json_block(call, 1_500)]
            for number, call in enumerate(calls, start=1)
        ),
        empty="None.",
    )


def producer_of(reflection: Reflection) -> SafeString:
    return short_text(f"{reflection.producer} {reflection.producer_name}", 60)


def reflection_panel(reflection: Reflection) -> Panel:
    lines = [
        ["outcome", f"{reflection.outcome} by {reflection.outcome_source}"],
        ["confidence", f"{reflection.outcome_confidence:.2f}"],
        ["reflected by", producer_of(reflection)],
        ["notes", short_text(" · ".join(map(str, reflection.notes)), PANEL_LIMIT)],
        ["why", short_text(reflection.outcome_reason, PANEL_LIMIT)],
        ["abstained", short_text(reflection.abstained, PANEL_LIMIT)],
        ["error", short_text(reflection.error_identification, PANEL_LIMIT)],
        ["root cause", short_text(reflection.root_cause, 60)],
        ["correct approach", short_text(reflection.correct_approach, PANEL_LIMIT)],
        ["key insight", short_text(reflection.key_insight, PANEL_LIMIT)],
        ["votes", panels.json_block(reflection.votes, 2_000)],
    ]
    return Panel("Reflection", ["", ""], [line for line in lines if line[1]])


def lessons_panel(lessons: Iterable[Any], text_of: TextReader) -> Panel:
    """List each lesson with its quotes, one line for each quote."""
    return panels.table(
        "Lessons",
        ["Lesson", "Root cause", "Field", "Quote in its text"],
        (
            [
                short_text(lesson.get("content", ""), PANEL_LIMIT) if first else "",
                short_text(lesson.get("root_cause", ""), 40) if first else "",
                short_text(quote.get("field", ""), 60),
                mark_quote(quote, text_of),
            ]
            for lesson in lessons
            if isinstance(lesson, dict)
            for first, quote in _mark_first(lesson.get("evidence"))
        ),
        empty="No lesson.",
        most=200,
    )


def evidence_panel(quotes: Iterable[Any], text_of: TextReader) -> Panel:
    return panels.table(
        "Evidence",
        ["Field", "From", "To", "Quote in its text"],
        (
            [
                short_text(quote.get("field", ""), 60),
                quote.get("start"),
                quote.get("end"),
                mark_quote(quote, text_of),
            ]
            for quote in quotes
            if isinstance(quote, dict)
        ),
        empty="No quote.",
    )


def observations_panel(rows: Iterable[Observation]) -> Panel:
    return panels.table(
        "Observations",
        ["Time", "Root cause", "Quote", "Resolved by"],
        (
            [
                format_time(row.created_at),
                short_text(row.root_cause, 40),
                short_text(row.seen.get("quote", ""), PANEL_LIMIT),
                short_text(row.seen.get("mended_by", ""), PANEL_LIMIT),
            ]
            for row in rows
        ),
        empty="None.",
    )


def mark_quote(quote: dict[str, Any], text_of: TextReader) -> Any:
    """Return the quote marked in the text around it.

    Return only the quote if the text has other words at that place.
    """
    text = text_of(str(quote.get("field", "")))
    start, end = quote.get("start"), quote.get("end")
    text_of_quote = str(quote.get("quote", ""))
    if (
        isinstance(start, int)
        and isinstance(end, int)
        and text[start:end] == text_of_quote
    ):
        return panels.highlight(text, start, end)
    return panels.text_block(text_of_quote, 2_000)


def _mark_first(quotes: Any) -> Iterable[tuple[bool, dict[str, Any]]]:
    spans = [quote for quote in quotes or [] if isinstance(quote, dict)]
    return ((number == 0, quote) for number, quote in enumerate(spans or [{}]))
