"""What a hook gives: fenced lines of rules and wishes, and a strict reader of them."""

from __future__ import annotations

from datetime import date

from hypothesis import strategies as st

from common.text.memory_fence import CLOSE, OPEN, fence
from common.text.quote import safe_line
from mcp_server.hooks import known_wishes, rule_lines
from tests.renderers.context_lines import lines_of
from tests.renderers.foreign_text import FILLED
from tests.renderers.line_reader import LineReader
from tests.renderers.renderer import Renderer

LABEL, DAY = "patterns-00001", date(2026, 11, 2)
Row = tuple[str, str]


def write(rows: list[Row]) -> str:
    lines = []
    for rule, wish in rows:
        lines.append(rule_lines.write_text(LABEL, rule, ""))
        lines.append(known_wishes.write_text(wish, [DAY]))
    return f"{fence(chr(10).join(lines))}\n"


def read(text: str) -> list[Row]:
    first, *lines, last = lines_of(text)
    assert (first, last) == (OPEN, CLOSE)
    pairs = zip(lines[::2], lines[1::2], strict=True)
    return [(read_rule(rule), read_wish(wish)) for rule, wish in pairs]


def read_rule(line: str) -> str:
    reader = LineReader(line)
    reader.skip(f"- [{LABEL}] ")
    content = reader.string()
    reader.end()
    return content


def read_wish(line: str) -> str:
    reader = LineReader(line)
    reader.skip(f"- asked on {DAY}: ")
    quote = reader.string()
    reader.skip("; waits in the inbox")
    reader.end()
    return quote


def expect(rows: list[Row]) -> list[Row]:
    return [
        (
            safe_line(rule, rule_lines.MAX_RULE),
            safe_line(wish, known_wishes.MAX_QUOTE),
        )
        for rule, wish in rows
    ]


RENDERERS = (
    Renderer(
        "hook",
        ("mcp_server.hooks.rule_lines", "mcp_server.hooks.known_wishes"),
        st.lists(st.tuples(FILLED, FILLED), min_size=1, max_size=3),
        write,
        read,
        expect,
    ),
)
