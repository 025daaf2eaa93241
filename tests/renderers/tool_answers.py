"""What the tools of MCP answer: JSON, and the quotes of a finished task."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st

from common.text.quote import MAX_READ, safe_line
from mcp_server.tools import complete_task, fetch, search
from memories.models import Memory
from tests.renderers.foreign_text import FILLED, FOREIGN, LONG
from tests.renderers.line_reader import LineReader
from tests.renderers.renderer import Renderer

MEMORIES = st.builds(
    Memory,
    kind=st.sampled_from(Memory.Kind.values),
    title=FOREIGN,
    key=FOREIGN,
    goal=FOREIGN,
    content=LONG,
)


def titles(memories: list[Memory]) -> str:
    return search.compact_json([search.memory_title(each) for each in memories])


def expected_title(memory: Memory) -> str:
    subject = memory.title or memory.key or memory.goal or memory.content
    return safe_line(f"[{memory.kind}] {subject}", search.MAX_TITLE)


def document(text: str) -> str:
    return search.compact_json(fetch.document("1", "", text, "", {}))


def asked(quotes: list[str]) -> str:
    reflect = [{"ask": "Say why.", "observation_id": "1", "quotes": quotes}]
    answer: dict[str, Any] = {"run_id": "1", "proposals": 0, "notes": []}
    return complete_task.write_text(answer | {"reflect": reflect})


def quotes_of(text: str) -> list[str]:
    _, ask, *lines = text.splitlines()
    assert ask == "Say why. observation_id: 1"
    found = []
    for line in lines:
        reader = LineReader(line)
        reader.skip("- quoted data: ")
        found.append(reader.string())
        reader.end()
    return found


RENDERERS = (
    Renderer(
        "titles of MCP",
        ("mcp_server.tools.search",),
        st.lists(MEMORIES, max_size=3),
        titles,
        json.loads,
        lambda memories: [expected_title(memory) for memory in memories],
    ),
    Renderer(
        "document of MCP",
        ("mcp_server.tools.fetch",),
        FOREIGN,
        document,
        lambda text: json.loads(text)["text"],
        fetch.shown_text,
    ),
    Renderer(
        "lesson that MCP asks for",
        ("mcp_server.tools.complete_task",),
        st.lists(FILLED, max_size=3),
        asked,
        quotes_of,
        lambda quotes: [safe_line(quote, MAX_READ) for quote in quotes],
    ),
)
