"""What people read: extracts, pages, the weekly Markdown, the audit log."""

from __future__ import annotations

import csv
import html
import io
import json
import re
import uuid
from datetime import UTC, date, datetime
from types import SimpleNamespace
from typing import Any

from hypothesis import strategies as st
from markdown_it import MarkdownIt

from ace.repairs import fix_text
from ace.repairs.failed_call import FailureKind
from ace.repairs.trust import FixWords
from audit import csv_export
from audit.models import AuditEvent
from common.admin import panels, visible_filter
from common.text.normalise import normalise
from common.text.plain_text import clip
from common.text.quote import json_string, visible_line
from common.text.visible import drop_invisible
from console.weekly import week_markdown, week_summary
from console.weekly.week_summary import WeekLesson, WeekSummary
from console.weeks import Week
from search import snippets
from search.snippets import Mark
from tests.renderers.foreign_text import FILLED, FOREIGN, JSON
from tests.renderers.line_reader import LineReader
from tests.renderers.renderer import Renderer

MOMENT = datetime(2026, 3, 1, 10, tzinfo=UTC)


# The extract of a hit: HTML with the words of the query in <mark>.
def normal(text: str) -> str:
    return normalise(visible_line(text))


def extract(text: str) -> str:
    line = normal(text)
    words = re.finditer(r"\w+", line)
    return snippets.extract(
        line, [Mark(word.start(), word.end(), word[0], 1.0) for word in words]
    ).html


def text_of_html(page: str) -> str:
    plain = re.sub(r"</?mark>", "", page)
    assert not re.search(r"[<>\"']", plain), plain
    return html.unescape(plain)


# A text in a cell, a block or a template of the console and the admin.
def cells(texts: tuple[str, str]) -> str:
    short, long = texts
    return f"{panels.short_text(short, 20)}{panels.text_block(long)}"


def texts_of_cells(page: str) -> list[str]:
    pieces = re.split(r"</?(?:bdi|pre)\b[^<>]*>", page)
    assert not any(re.search(r"[<>\"']", piece) for piece in pieces)
    return [html.unescape(piece) for piece in pieces if piece]


def expected_cells(texts: tuple[str, str]) -> list[str]:
    short, long = texts
    found = [clip(drop_invisible(short), 20), visible_filter.visible(long)]
    return [each for each in found if each]


# The week of a playbook as Markdown.
LESSONS = st.builds(
    WeekLesson,
    entry_id=st.uuids(),
    label=st.just("gotchas-00001"),
    text=FILLED,
    actions=st.just("added"),
    decided_by=FOREIGN,
    why=FOREIGN,
)
WEEKS = st.tuples(FILLED, st.lists(LESSONS, max_size=2))


def week_of(row: Any) -> WeekSummary:
    _, lessons = row
    kinds = dict.fromkeys(week_markdown.TITLES, ())
    return WeekSummary(Week(date(2026, 3, 2)), {**kinds, week_summary.NEW: lessons})


def week_page(row: Any) -> str:
    return week_markdown.render_markdown(
        week_of(row), row[0], lambda path: f"https://memory.example{path}"
    )


MARKDOWN = MarkdownIt("gfm-like", {"html": True, "linkify": False})


def week_items(text: str) -> Any:
    """Read the page as a Markdown program does."""
    tokens = MARKDOWN.parse(text)
    types = {token.type for token in tokens}
    kinds = {"heading", "paragraph", "bullet_list", "list_item"}
    opened = {f"{kind}_{end}" for kind in kinds for end in ("open", "close")}
    assert types <= opened | {"inline"}
    inlines = [text_of_inline(token) for token in tokens if token.type == "inline"]
    items = [token for token in tokens if token.type == "list_item_open"]
    return inlines[0], len(items), [each for each in inlines if each[1]]


def text_of_inline(token: Any) -> tuple[str, int]:
    """Return the plain text of a line, and how many links it has."""
    children = {child.type for child in token.children}
    known = {"text", "text_special", "softbreak", "strong_open", "strong_close"}
    assert children <= known | {"link_open", "link_close"}
    text = "".join(
        "\n" if child.type == "softbreak" else child.content for child in token.children
    )
    return text, sum(child.type == "link_open" for child in token.children)


def expected_week(row: Any) -> Any:
    project, lessons = row

    def plain(value: str) -> str:
        return clip(visible_line(value), week_markdown.MAX_TEXT)

    lines = []
    for lesson in lessons:
        why = f". {lesson.why}" if lesson.why else ""
        details = f"added; evidence: none; decided by {lesson.decided_by}{why}"
        lines.append((f"{lesson.label} {plain(lesson.text)}\n{plain(details)}", 1))
    heading = f"{plain(project)}: learned in 2026-W10"
    return (heading, 0), len(week_of(row).sentences) + len(lines), lines


# The audit log as CSV.
EVENTS = st.lists(
    st.builds(
        AuditEvent,
        at=st.just(MOMENT),
        verb=FOREIGN,
        actor=FOREIGN,
        agent_id=FOREIGN,
        object_type=st.just("memory"),
        object_id=FOREIGN,
        detail=st.dictionaries(FOREIGN, JSON, max_size=2),
        request_id=FOREIGN,
        address=st.just("127.0.0.1"),
    ),
    max_size=3,
)


def audit_log(events: list[AuditEvent]) -> str:
    text = "".join(csv_export.csv_lines(events))
    assert text.startswith("\ufeff")
    return text[1:]


def audit_rows(text: str) -> list[list[str]]:
    head, *rows = csv.reader(io.StringIO(text, newline=""))
    assert head == csv_export.COLUMNS
    for row in rows:
        assert not any(
            normalise(cell).lstrip(" ")[:1] in ("=", "+", "-", "@")
            for cell in row
            if cell
        )
    return [[cell.removeprefix("'") for cell in row] for row in rows]


def expected_events(events: list[AuditEvent]) -> list[list[str]]:
    return [
        [cell_of(getattr(event, name)) for name in csv_export.COLUMNS]
        for event in events
    ]


def cell_of(value: Any) -> str:
    if isinstance(value, datetime):
        return value.isoformat()
    text = json.dumps(value) if isinstance(value, dict) else value or ""
    return drop_invisible(text).removeprefix("'")


# The line that an agent gets when a call fails as one did before.
FIXES = st.tuples(FILLED, FOREIGN, FOREIGN, st.sampled_from(["lint", "shell"]))


def fix_line(row: Any) -> str:
    name, failed, worked, kind = row
    newest = SimpleNamespace(created_at=MOMENT, run_id=uuid.UUID(int=1))
    cure = SimpleNamespace(
        signature=SimpleNamespace(name=name), newest=newest, times=3, sessions=2
    )
    words = FixWords(FailureKind(kind), "rewrite", failed, worked or "x")
    return fix_text.write(cure, words)


def texts_of_fix(line: str) -> list[str]:
    reader = LineReader(line)
    reader.match("Run |Rewrite the line: ")
    found = [reader.string()]
    reader.skip(" instead of ")
    found.append(reader.string())
    reader.skip(": it worked after ")
    found.append(reader.string())
    reader.match(r" \(3 times in 2 sessions, last on 2026-03-01; run [0-9a-f-]{36}\)\.")
    reader.end()
    return found


def expected_fix(row: Any) -> list[str]:
    name, failed, worked, _ = row
    texts = [
        (worked or "x", fix_text.MAX_COMMAND),
        (failed, fix_text.MAX_WORDS),
        (name, fix_text.MAX_NAME),
    ]
    return [json.loads(json_string(*each)) for each in texts]


RENDERERS = (
    Renderer(
        "known fix",
        ("ace.repairs.fix_text",),
        FIXES,
        fix_line,
        texts_of_fix,
        expected_fix,
    ),
    Renderer(
        "search extract",
        ("search.snippets",),
        FOREIGN.filter(lambda text: len(normal(text)) <= snippets.LENGTH),
        extract,
        text_of_html,
        normal,
    ),
    Renderer(
        "pages",
        ("common.admin.panels", "common.admin.visible_filter"),
        st.tuples(FILLED, FILLED),
        cells,
        texts_of_cells,
        expected_cells,
        spaces="\t\n\r",
    ),
    Renderer(
        "weekly Markdown",
        ("console.weekly.week_markdown",),
        WEEKS,
        week_page,
        week_items,
        expected_week,
    ),
    Renderer(
        "audit CSV",
        ("audit.csv_export",),
        EVENTS,
        audit_log,
        audit_rows,
        expected_events,
        spaces="\t\n\r",
    ),
)
