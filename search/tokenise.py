"""Cut text into words, for the index and for queries alike: docs/ranking.md, "Words".

PostgreSQL's parser alone takes `src/auth.py` for one file name, `List<String>` for a
list and a tag, and a Japanese sentence for one word. This module cuts identifiers into
their parts first and keeps the whole beside them; PostgreSQL does the stemming.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from itertools import accumulate

from common.text import literals

# Characters. PostgreSQL refuses lexemes over 2,046 bytes; nobody searches for longer ones.
MAX_LEXEME_LENGTH = 200
# Characters of a row after cutting, where one may have become three. The worst case, rare
# CJK pairs of about 14 bytes each, then stays under the 1 MB that a tsvector holds.
MAX_CHARACTERS = 180_000

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
# Separators are all but letters, digits, the point in a number, and the hyphen in a
# compound, which PostgreSQL cuts itself. The lookbehinds come last: in front, they made the
# pattern take twice as long.
_SEPARATOR = re.compile(
    r"[^\w\s.-]|_|-(?:(?<![^\W\d_]-)|(?![^\W\d_]))|\.(?:(?<!\d\.)|(?!\d))",
)
# From the start of a word only, or the pattern would try each letter of a long one.
_RUN = re.compile(r"(?<![^\W_])[^\W_]*?(?:[a-z0-9][A-Z]|[A-Z]{2}[a-z])[^\W_]*")
_JOINT = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
# Scripts without spaces: kana, Han, and the supplementary ideographs.
_UNSPACED_LETTERS = (
    "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f"
)
_UNSPACED = re.compile(f"[{_UNSPACED_LETTERS}]+")
_WORD = re.compile(
    rf"[{_UNSPACED_LETTERS}]+|[^\W_{_UNSPACED_LETTERS}]+(?:(?<=\d)\.(?=\d)[^\W_{_UNSPACED_LETTERS}]+)*"
)

# The same for ASCII texts, in half the time.
_ASCII_WORD = re.compile(r"[A-Za-z0-9]+(?:(?<=[0-9])\.(?=[0-9])[A-Za-z0-9]+)*")

Span = tuple[int, int]


def separate_words(value: str, limit: int = MAX_CHARACTERS) -> str:
    """Put spaces between the words of a text, for `to_tsvector`; cut it at the limit.

    `getUserName` becomes `get User Name getUserName`, `page_index` becomes two words, and
    scripts without spaces become pairs of adjacent characters.
    """
    clean = unicodedata.normalize("NFKC", _UNSTORABLE.sub(" ", value))
    cut = _SEPARATOR.sub(" ", clean[:limit])
    cut = " ".join(map(_add_parts, cut.split()))
    cut = _UNSPACED.sub(lambda run: f" {' '.join(character_pairs(run[0]))} ", cut)
    return cut[:limit]


def _add_parts(word: str) -> str:
    if word[1:].islower():  # most words: no camelCase
        return word
    return _RUN.sub(lambda run: " ".join([*camel_case_parts(run[0]), run[0]]), word)


def compounds(value: str) -> list[str]:
    """Identifiers that stay whole beside their words: paths, flags, snake_case."""
    clean = _UNSTORABLE.sub(" ", value)
    return [
        word.lower()
        for word in literals.find_identifiers(clean)
        if len(word) <= MAX_LEXEME_LENGTH and not word.isalnum()
    ]


def has_digit(compound: str) -> bool:
    """Whether an identifier is an id or a version rather than a name made of words."""
    return any(map(str.isdecimal, compound))


def camel_case_parts(run: str) -> list[str]:
    """The words of a camelCase name."""
    return _JOINT.split(run)


def character_pairs(run: str) -> list[str]:
    """All pairs of adjacent characters; a single character stays as it is."""
    return [run[i : i + 2] for i in range(len(run) - 1)] or [run]


def find_words(value: str, start: int, end: int) -> Iterator[re.Match[str]]:
    """Find the words between two places of a text, to mark them."""
    return (_ASCII_WORD if value.isascii() else _WORD).finditer(value, start, end)


def part_spans(word: str) -> list[Span]:
    """The places of the parts of a camelCase name or of an unspaced text."""
    if word.islower() or word.istitle():
        return []
    if _UNSPACED.match(word):
        return [(at, at + 2) for at in range(len(word) - 1)]
    if not _RUN.fullmatch(word):
        return []
    ends = list(accumulate(map(len, camel_case_parts(word))))
    return list(zip([0, *ends], ends, strict=False))


def fold(word: str) -> str:
    """Normalise a word for comparison, before stemming."""
    if word.isascii():
        return word.lower()
    # Python lowers this letter to two characters, PostgreSQL to one.
    return unicodedata.normalize("NFKC", word).replace("İ", "i").lower()
