"""Fence text from outside in a prompt, so that the model reads the text as data.

The fence is made of marker lines that the text cannot contain.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from secrets import token_hex

from common.text import secrets
from common.text.quote import visible_line, visible_text


@dataclass(frozen=True)
class FencedText:
    name: str
    text: str


def fence_texts(texts: Sequence[FencedText]) -> str:
    """Put each text under its marker line; no data comes after the last marker line.

    Secrets are masked whatever the project stores, because another company may run the
    model. Characters without a visible form are dropped, because they can hide orders.
    """
    masked = [_safe_text(each) for each in texts]
    marker = _marker(masked)
    lines = [f"==== {marker} {each.name}\n{each.text}" for each in masked]
    return "\n".join([*lines, f"==== {marker} end"])


def _safe_text(text: FencedText) -> FencedText:
    masked = secrets.mask(text.text).text
    return FencedText(visible_line(text.name), visible_text(masked))


def _marker(texts: Sequence[FencedText]) -> str:
    """Return a random word that no text contains; nobody can know it before the prompt exists."""
    while True:
        marker = token_hex(8)
        if not any(marker in each.text or marker in each.name for each in texts):
            return marker


def keep_ends(text: str, limit: int) -> str:
    """Cut out the middle of a long text, because a log's important lines are at both ends."""
    if len(text) <= limit:
        return text
    head, tail = limit // 2, limit - limit // 2
    cut = len(text) - limit
    return f"{text[:head]}\n[{cut:,} characters left out]\n{text[-tail:]}"
