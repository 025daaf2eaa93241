"""Check and change plain text: storable characters, line breaks, length."""

from __future__ import annotations

import re
import unicodedata

from common.text.normalise import normalise

_SURROGATE = re.compile("[\ud800-\udfff]")
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
REPLACEMENT = "\ufffd"


def find_unstorable(text: str) -> str | None:
    """Describe what PostgreSQL or UTF-8 cannot store; None if the text can be stored."""
    if "\x00" in text:
        return "contains a NUL byte (U+0000)"
    if _SURROGATE.search(text):
        return "contains a lone surrogate (half of a UTF-16 pair)"
    return None


def make_storable(text: str) -> str:
    """Replace each NUL and each lone surrogate by U+FFFD."""
    return _UNSTORABLE.sub(REPLACEMENT, text)


def with_newlines(text: str) -> str:
    """Replace each CR LF by LF; browsers send CR LF for each line break."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def measure(text: str) -> int:
    """Return how much a text says, in characters of an alphabet.

    A letter of Chinese, Japanese or Korean counts as three. A letter and its accents count
    as one, whatever the Unicode form.
    """
    text = normalise(text).strip()
    wide = sum(c.isalpha() and unicodedata.east_asian_width(c) == "W" for c in text)
    return len(text) + 2 * wide


def clip(text: str, limit: int) -> str:
    """Cut a text to `limit` characters, including the ellipsis."""
    if len(text) <= limit:
        return text
    return text[: max(limit - 1, 0)].rstrip() + "…" if limit > 0 else ""
