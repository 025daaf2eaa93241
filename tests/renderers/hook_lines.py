"""What a hook gives: fenced lines of rules and of what people told, and a strict reader."""

from __future__ import annotations

import json
from datetime import date
from types import SimpleNamespace

from hypothesis import strategies as st

from common.text.memory_fence import CLOSE, OPEN, fence
from common.text.quote import json_string, safe_line
from context import memory_lines
from mcp_server.hooks import lesson_lines, rule_lines
from tests.renderers.context_lines import lines_of
from tests.renderers.foreign_text import FILLED
from tests.renderers.line_reader import LineReader
from tests.renderers.renderer import Renderer

LABEL, DAY = "patterns-00001", date(2026, 11, 2)
Row = tuple[str, str]


def write(rows: list[Row]) -> str:
    lines = []
    for rule, told in rows:
        memory = SimpleNamespace(key="", content=told, created_at=DAY)
        lines.append(rule_lines.write_text(LABEL, rule, ""))
        lines.append(lesson_lines.write_told(memory))
    return f"{fence(chr(10).join(lines))}\n"


def read(text: str) -> list[Row]:
    first, *lines, last = lines_of(text)
    assert (first, last) == (OPEN, CLOSE)
    parts = zip(lines[::2], lines[1::2], strict=True)
    return [(read_rule(rule), read_told(told)) for rule, told in parts]


def read_rule(line: str) -> str:
    reader = LineReader(line)
    reader.skip(f"- [{LABEL}] ")
    content = reader.string()
    reader.end()
    return content


def read_told(line: str) -> str:
    reader = LineReader(line)
    reader.skip("- ")
    told = reader.string()
    reader.skip(f" ({DAY})")
    reader.end()
    return told


def expect(rows: list[Row]) -> list[Row]:
    return [
        (
            safe_line(rule, rule_lines.MAX_RULE),
            json.loads(json_string(told, memory_lines.MAX_LESSON)),
        )
        for rule, told in rows
    ]


RENDERERS = (
    Renderer(
        "hook",
        (
            "mcp_server.hooks.rule_lines",
            "mcp_server.hooks.lesson_lines",
        ),
        st.lists(st.tuples(FILLED, FILLED), min_size=1, max_size=3),
        write,
        read,
        expect,
    ),
)
