"""Lines of the project card, and a strict reader of them."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from ace.rules.instruction_lines import InstructionLine
from common.text.quote import safe_line
from context.card import card_line, corrections, wrong_lines
from context.card.wrong_lines import WrongLine
from tests.renderers.context_lines import lines_of
from tests.renderers.foreign_text import FILLED
from tests.renderers.line_reader import LineReader
from tests.renderers.renderer import Renderer

WRONG = st.builds(
    WrongLine,
    line=st.builds(InstructionLine, path=FILLED, number=st.just(1), text=FILLED),
    named=FILLED,
    right=FILLED | st.just(""),
    sessions=st.integers(1, 20),
    runs=st.just(()),
)


def write(rows: list[WrongLine]) -> str:
    return "".join(f"{line.text}\n" for line in wrong_lines.write(rows))


def read(text: str) -> list[Any]:
    return [read_line(LineReader(line)) for line in lines_of(text)]


def read_line(reader: LineReader) -> tuple[str, str, str, int]:
    reader.skip("- ")
    path = reader.string()
    reader.skip(" says ")
    named = reader.string()
    reader.skip(", which was not there")
    right = reader.string() if reader.has("; it is ") else ""
    reader.skip(" (")
    sessions = int(reader.match(r"\d+"))
    reader.skip(" session" if sessions == 1 else " sessions")
    reader.skip(")")
    reader.end()
    return path, named, right, sessions


def expect(rows: list[WrongLine]) -> list[tuple[str, str, str, int]]:
    return [
        (shown(row.line.path), shown(row.named), shown(row.right), row.sessions)
        for row in rows
    ]


def shown(text: str) -> str:
    return safe_line(text, card_line.MAX_WORDS)


def write_reasons(rows: list[WrongLine]) -> str:
    return "".join(f"{corrections.write_reason(row)}\n" for row in rows)


def read_reasons(text: str) -> list[tuple[str, ...]]:
    return [read_reason(LineReader(line)) for line in lines_of(text)]


def read_reason(reader: LineReader) -> tuple[str, str, str, str]:
    reader.skip("In ")
    path = reader.string()
    reader.skip(", ")
    is_replaced = reader.has("replace ")
    if not is_replaced:
        reader.skip("correct ")
    line = reader.string()
    replacement = ""
    if is_replaced:
        reader.skip(" by ")
        replacement = reader.string()
    reader.skip(": ")
    named = reader.string()
    reader.match(r" was not there in \d+ sessions\.")
    reader.end()
    return path, line, replacement, named


def expect_reasons(rows: list[WrongLine]) -> list[tuple[str, str, str, str]]:
    most = corrections.MAX_QUOTE
    return [
        (
            safe_line(row.line.path),
            safe_line(row.line.text, most),
            safe_line(row.replacement, most),
            safe_line(row.named, most),
        )
        for row in rows
    ]


RENDERERS = (
    Renderer(
        "correction of instructions",
        ("context.card.corrections",),
        st.lists(WRONG, max_size=2),
        write_reasons,
        read_reasons,
        expect_reasons,
    ),
    Renderer(
        "project card",
        ("context.card.card_line",),
        st.lists(WRONG, max_size=2),
        write,
        read,
        expect,
    ),
)
