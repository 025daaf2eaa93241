"""A run's lessons on admin pages: each quote marked in the field it was cut from."""

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

MAX_DELTAS = panels.ROW_LIMIT  # deltas of a run on its page


def quote_panels(asked: Mapping[str, str], text_of: TextReader) -> Iterable[Panel]:
    """The place that a link with `?field=&start=&end=` leads to, marked."""
    text, ends = text_of(asked.get("field", "")), (asked.get("start"), asked.get("end"))
    if not text or not all(end and end.isdecimal() and len(end) < 10 for end in ends):
        return
    start, end = (min(int(end or 0), len(text)) for end in ends)
    shown = panels.highlight(text, start, max(start, end))
    yield Panel(f"The quote in {asked['field'][:200]}", [""], [[shown]])


def phases_panel(run: AceRun) -> Panel:
    known = [
        (name, told) for name, told in run.phases.items() if isinstance(told, dict)
    ]
    phases = sorted(known, key=lambda phase: str(phase[1].get("at")))
    return panels.table(
        "Phases",
        ["Phase", "Status", "Part of the time", "Took", "At", "Error"],
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
    """Each phase's share of the time that all took, from where the last one ended."""
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
    """Its memory and its deltas, and what is so of them now."""
    deltas = PlaybookDelta.objects.visible_to(caller).filter(run_id=run.pk)
    return panels.table(
        "What came of it",
        ["What", "Text", "Status", "Entry", "The entry is now"],
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
        shown = row_link("memories_memory", memory.pk, memory, PANEL_LIMIT)
        yield ["memory", shown, status_of(memory), "", ""]


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
    """The task's tool calls, whatever shape they were sent in."""
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


def producer_of(found: Reflection) -> SafeString:
    return short_text(f"{found.producer} {found.producer_name}", 60)


def reflection_panel(found: Reflection) -> Panel:
    told = [
        ["outcome", f"{found.outcome} by {found.outcome_source}"],
        ["confidence", f"{found.outcome_confidence:.2f}"],
        ["reflected by", producer_of(found)],
        ["notes", short_text(" · ".join(map(str, found.notes)), PANEL_LIMIT)],
        ["why", short_text(found.outcome_reason, PANEL_LIMIT)],
        ["abstained", short_text(found.abstained, PANEL_LIMIT)],
        ["error", short_text(found.error_identification, PANEL_LIMIT)],
        ["root cause", short_text(found.root_cause, 60)],
        ["correct approach", short_text(found.correct_approach, PANEL_LIMIT)],
        ["key insight", short_text(found.key_insight, PANEL_LIMIT)],
        ["votes", panels.json_block(found.votes, 2_000)],
    ]
    return Panel("Reflection", ["", ""], [line for line in told if line[1]])


def lessons_panel(lessons: Iterable[Any], text_of: TextReader) -> Panel:
    """Each lesson with its quotes, a line for each quote."""
    return panels.table(
        "Lessons",
        ["Lesson", "Root cause", "Field", "Where it stands there"],
        (
            [
                short_text(lesson.get("content", ""), PANEL_LIMIT) if first else "",
                short_text(lesson.get("root_cause", ""), 40) if first else "",
                short_text(quote.get("field", ""), 60),
                mark_quote(quote, text_of),
            ]
            for lesson in lessons
            if isinstance(lesson, dict)
            for first, quote in _numbered(lesson.get("evidence"))
        ),
        empty="No lesson.",
        most=200,
    )


def evidence_panel(quotes: Iterable[Any], text_of: TextReader) -> Panel:
    return panels.table(
        "Evidence",
        ["Field", "From", "To", "Where it stands there"],
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
        ["When", "Root cause", "Seen", "Mended by"],
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
    """The quote with the text around it; alone where it does not stand there."""
    text = text_of(str(quote.get("field", "")))
    start, end = quote.get("start"), quote.get("end")
    told = str(quote.get("quote", ""))
    if isinstance(start, int) and isinstance(end, int) and text[start:end] == told:
        return panels.highlight(text, start, end)
    return panels.text_block(told, 2_000)


def _numbered(quotes: Any) -> Iterable[tuple[bool, dict[str, Any]]]:
    held = [quote for quote in quotes or [] if isinstance(quote, dict)]
    return ((number == 0, quote) for number, quote in enumerate(held or [{}]))
