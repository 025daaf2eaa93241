"""Prompts for a language model: fenced texts, and the lines inside of them."""

from __future__ import annotations

import re

from hypothesis import strategies as st

from common.text import secrets
from common.text.quote import visible_line, visible_text
from inference.language.fence import FencedText, fence_texts
from tests.renderers.foreign_text import FILLED, FOREIGN
from tests.renderers.renderer import Renderer

FENCED = st.lists(st.builds(FencedText, name=FILLED, text=FOREIGN), max_size=3)


def fenced(text: str) -> list[tuple[str, str]]:
    marker = re.search(r"^==== ([0-9a-f]{16}) end\Z", text, re.MULTILINE)
    assert marker
    _, *parts = re.split(rf"^==== {marker[1]} ", text, flags=re.MULTILINE)
    assert parts.pop() == "end"
    pairs = (part.removesuffix("\n").split("\n", 1) for part in parts)
    return [(name, body) for name, body in pairs]


def expected_fenced(texts: list[FencedText]) -> list[tuple[str, str]]:
    return [
        (visible_line(each.name), visible_text(secrets.mask(each.text).text))
        for each in texts
    ]


RENDERERS = (
    Renderer(
        "fence of a prompt",
        ("inference.language.fence",),
        FENCED,
        fence_texts,
        fenced,
        expected_fenced,
    ),
)
