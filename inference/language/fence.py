"""Fence text from outside in a prompt, so that the model reads the text as data.

The fence is made of marker lines that the text cannot contain.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import count
from secrets import token_bytes, token_hex

from common.text import secrets
from common.text.quote import visible_line, visible_text

_HASH_KEY = token_bytes(16)
MARKER_BYTES = 8


@dataclass(frozen=True)
class FencedText:
    name: str
    text: str


def fence_texts(texts: Sequence[FencedText]) -> str:
    """Put each text under its marker line; no data comes after the last marker line.

    Secrets are masked whatever the project stores, because another company may run the
    model. Characters without a visible form are dropped, because they can hide orders.
    """
    masked = [make_safe(each) for each in texts]
    return write_fence(masked, _random_marker(masked))


def make_safe(text: FencedText) -> FencedText:
    """Mask the secrets of a text, and drop its invisible characters."""
    masked = secrets.mask(text.text).text
    return FencedText(visible_line(text.name), visible_text(masked))


def write_fence(safe: Iterable[FencedText], marker: str) -> str:
    """Write the fence of texts that `make_safe` returned, and that do not hold the marker."""
    lines = [f"{open_fence(each.name, marker)}\n{each.text}" for each in safe]
    return "\n".join([*lines, open_fence("end", marker)])


def open_fence(name: str, marker: str) -> str:
    """Return the line above a text; the line with the name `end` closes the fence."""
    return f"==== {marker} {name}"


def _random_marker(texts: Sequence[FencedText]) -> str:
    """Return a random word that no text contains; nobody can know it before the prompt exists."""
    while True:
        marker = token_hex(MARKER_BYTES)
        if not any(marker in each.text or marker in each.name for each in texts):
            return marker


def repeatable_marker(seed: Iterable[str], avoid: Sequence[str]) -> str:
    """Return a word that none of the texts `avoid` contains, the same for the same seed.

    An endpoint can then reuse its work for the beginning of a prompt that it has seen. The
    key of the hash never leaves the process, so nobody can compute the word. A text that
    repeats the word, because a model has told it, makes the next word the marker.
    """
    texts = "\0".join(seed).encode("utf-8", "surrogatepass")
    words = (_hash_word(number.to_bytes(8, "big") + texts) for number in count())
    return next(word for word in words if not any(word in text for text in avoid))


def _hash_word(data: bytes) -> str:
    return blake2b(data, digest_size=MARKER_BYTES, key=_HASH_KEY).hexdigest()


def keep_ends(text: str, limit: int) -> str:
    """Cut out the middle of a long text, because a log's important lines are at both ends."""
    if len(text) <= limit:
        return text
    head, tail = limit // 2, limit - limit // 2
    cut = len(text) - limit
    return f"{text[:head]}\n[{cut:,} characters left out]\n{text[-tail:]}"
