"""Undo escapes, line continuations and look-alike characters, and remember where each was."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from common.text import visible

# %3D, \\u003d, \\x3d, \\n, \\", &quot;, a backslash or backtick at the end of a line, "a" + "b".
_ESCAPE = re.compile(
    r"%[0-9A-Fa-f]{2}|\\u[0-9A-Fa-f]{4}|\\x[0-9A-Fa-f]{2}|\\[\"'/\\nrtbf@:=]|&(?:quot|amp|apos|lt|gt|#\d{1,5}|#x[0-9A-Fa-f]{1,4});"
    r"|[\\`^][ \t]{0,8}\r?\n[ \t]{0,40}|=\r?\n(?=\S)"
    r"|\"[ \t]{0,8}(?:\+|\.|\\)?[ \t]{0,8}\r?\n[ \t]{0,40}(?:\+[ \t]{0,8})?\"|'[ \t]{0,8}(?:\+|\.|\\)?[ \t]{0,8}\r?\n[ \t]{0,40}(?:\+[ \t]{0,8})?'"
    r"|\"[ \t]{1,4}\+[ \t]{1,4}\"|'[ \t]{1,4}\+[ \t]{1,4}'|\"\+\"|'\+'"
    r"|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]"
)
# What every escape has: a search for one of these is far cheaper.
_SIGN = re.compile(
    r"[%\\&`^\x00-\x08\x0b\x0c\x0e-\x1f\x7f]|=\r?\n|[\"'][ \t]{0,8}(?:[+.][ \t]{0,8})?(?:\r?\n|[\"'])"
)
_SIMPLE = {"n": "\n", "r": "\r", "t": "\t", "b": " ", "f": " "}
_ENTITIES = {"&quot;": '"', "&amp;": "&", "&apos;": "'", "&lt;": "<", "&gt;": ">"}
ROUNDS = 3  # text is escaped again each time it is put into a string


@dataclass(frozen=True)
class PlainText:
    """A text without escapes; `origins` has the index of each character in the original."""

    text: str
    origins: Sequence[int]
    size: int  # the length of the original

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Return where a part of the plain text is in the original."""
        last = self.origins[end] if end < len(self.origins) else self.size
        return self.origins[start], max(last, self.origins[start] + 1)


def unescape(text: str) -> PlainText | None:
    """Return the text as a reader or a program sees it, or None if that is the same text."""
    if text.isascii() and not _SIGN.search(text):
        return None
    plain, origins = _fold(text, range(len(text)))
    for _ in range(ROUNDS):
        if not _ESCAPE.search(plain):
            break
        plain, origins = _fold(*_undo(plain, origins))
    return PlainText(plain, origins, len(text)) if plain != text else None


def _fold(text: str, origins: Sequence[int]) -> tuple[str, Sequence[int]]:
    """Fold look-alike characters and drop invisible characters."""
    if text.isascii():
        return text, origins
    form = visible.matching_form(text)
    return form.text, [origins[index] for index in form.origins]


def _undo(text: str, origins: Sequence[int]) -> tuple[str, list[int]]:
    pieces: list[str] = []
    kept: list[int] = []
    end = 0
    for match in _ESCAPE.finditer(text):
        character = _character(match[0])
        pieces += (text[end : match.start()], character)
        kept.extend(origins[end : match.start()])
        kept.extend([origins[match.start()]] * len(character))
        end = match.end()
    pieces.append(text[end:])
    kept.extend(origins[end:])
    return "".join(pieces), kept


def _character(escape: str) -> str:
    if escape[0] == "%":
        return chr(int(escape[1:], 16))
    if escape[0] == "&":
        return _ENTITIES.get(escape) or _from_number(escape)
    if escape[0] == "\\" and escape[1:2] in ("u", "x"):
        return chr(int(escape[2:], 16))
    if escape[0] == "\\" and len(escape) == 2 and escape[1] != "\n":
        return _SIMPLE.get(escape[1], escape[1])
    return ""


def _from_number(entity: str) -> str:
    digits = entity[2:-1]
    number = int(digits[1:], 16) if digits[0] == "x" else int(digits)
    return chr(number) if number < 0xD800 else " "
