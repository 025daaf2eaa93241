"""What the tools of MCP answer: JSON."""

from __future__ import annotations

import json

from hypothesis import strategies as st

from common.text.quote import safe_line
from mcp_server.tools import fetch, search
from memories.models import Memory
from tests.renderers.foreign_text import FOREIGN, LONG
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
)
