"""Text from outside as data of a prompt, between lines that it cannot contain."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from secrets import token_hex

from common.text import secrets


@dataclass(frozen=True)
class FencedText:
    name: str
    text: str


def fence_texts(parts: Sequence[FencedText]) -> str:
    """The parts, each under its marker line; what follows the last line is no data.

    Secrets are masked whatever the project stores: the model may be another company's.
    """
    masked = [FencedText(part.name, secrets.mask(part.text).text) for part in parts]
    marker = _marker(masked)
    lines = [f"==== {marker} {part.name}\n{part.text}" for part in masked]
    return "\n".join([*lines, f"==== {marker} end"])


def _marker(parts: Sequence[FencedText]) -> str:
    """A word that nobody can know before the prompt is made, and that no part has."""
    while True:
        marker = token_hex(8)
        if not any(marker in part.text or marker in part.name for part in parts):
            return marker


def keep_ends(text: str, limit: int) -> str:
    """Both ends of a long text: what matters stands at the edges of a log."""
    if len(text) <= limit:
        return text
    head, tail = limit // 2, limit - limit // 2
    left_out = len(text) - limit
    return f"{text[:head]}\n[{left_out:,} characters left out]\n{text[-tail:]}"
