from __future__ import annotations

import hashlib
import re
import unicodedata

_SURROGATE = re.compile("[\ud800-\udfff]")


def find_unstorable(text: str) -> str | None:
    """Name what PostgreSQL or UTF-8 cannot hold, in words for the sender."""
    if "\x00" in text:
        return "contains a NUL byte (U+0000)"
    if _SURROGATE.search(text):
        return "contains a lone surrogate (half of a UTF-16 pair)"
    return None


def with_newlines(text: str) -> str:
    """The text with LF line breaks: a browser sends each one as CR LF."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def similarity_hash(text: str) -> str:
    """Hash what two copies of a text share."""
    folded = " ".join(unicodedata.normalize("NFKC", text).casefold().split())
    return hashlib.sha256(folded.encode("utf-8", "surrogatepass")).hexdigest()


def clip(text: str, limit: int) -> str:
    """Cut to `limit` characters, the ellipsis included."""
    if len(text) <= limit:
        return text
    return text[: max(limit - 1, 0)].rstrip() + "…" if limit > 0 else ""
