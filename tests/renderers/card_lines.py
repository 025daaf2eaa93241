"""Lines of the project card, and a strict reader of them."""

from __future__ import annotations

import datetime as dt
import uuid
from typing import Any

from hypothesis import strategies as st

from common.text.quote import safe_line
from context.card import card_line
from context.card.card_rows import CommandRow
from context.card.known_commands import KnownCommand, UsedCommand
from tests.renderers.context_lines import lines_of
from tests.renderers.foreign_text import FILLED
from tests.renderers.line_reader import LineReader
from tests.renderers.renderer import Renderer

COMMAND = st.builds(
    CommandRow,
    id=st.just(uuid.UUID(int=1)),
    run_id=st.just(uuid.UUID(int=2)),
    kind=st.just("test"),
    pattern=st.just("make"),
    text=FILLED,
    outcome=st.just("worked"),
    session=st.just("one"),
    person=st.just("alice"),
    run__is_attested=st.just(False),
    created_at=st.just(dt.datetime(2026, 2, 1, tzinfo=dt.UTC)),
)


def write(rows: list[CommandRow]) -> str:
    known = [KnownCommand(row.pattern, UsedCommand([row]), 1) for row in rows]
    return "".join(f"{each.write().text}\n" for each in known)


def read(text: str) -> list[Any]:
    return [read_line(LineReader(line)) for line in lines_of(text)]


def read_line(reader: LineReader) -> str:
    reader.skip("- test: ")
    command = reader.string()
    reader.skip(" worked (1 session, last 2026-02-01)")
    reader.end()
    return command


def expect(rows: list[CommandRow]) -> list[str]:
    return [safe_line(row.text, card_line.MAX_WORDS) for row in rows]


RENDERERS = (
    Renderer(
        "project card",
        ("context.card.card_line",),
        st.lists(COMMAND, max_size=2),
        write,
        read,
        expect,
    ),
)
