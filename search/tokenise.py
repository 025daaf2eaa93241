"""Cut text into words, for the index and for queries alike: docs/ranking.md, "Words".

PostgreSQL's own parser takes `src/auth.py` for one file name, `List<String>` for a list and
a tag, and a Japanese sentence for one word. This module therefore cuts identifiers into
their parts first. It also keeps the whole identifiers. PostgreSQL then stems the words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import accumulate

from common.text import literals
from common.text.normalise import normalise

# The longest word, in characters. PostgreSQL refuses lexemes over 2,046 bytes, and nobody
# searches for longer words.
MAX_LEXEME_LENGTH = 200
# The most characters of a row after the text is cut into words. Cutting can make three
# characters of one. In the worst case, rare CJK pairs of about 14 bytes each, the row then
# stays under the 1 MB that a tsvector holds.
MAX_CHARACTERS = 180_000

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
# Every character is a separator except letters, digits, the point in a number, and the
# hyphen in a compound. PostgreSQL itself cuts compounds with hyphens. The lookbehinds come
# last, because the pattern took twice as long with lookbehinds in front.
_SEPARATOR = re.compile(
    r"[^\w\s.-]|_|-(?:(?<![^\W\d_]-)|(?![^\W\d_]))|\.(?:(?<!\d\.)|(?!\d))",
)
# The pattern matches only from the start of a word. Otherwise it would try to match from
# each letter of a long word.
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

# This pattern does the same for ASCII texts, in half the time.
_ASCII_WORD = re.compile(r"[A-Za-z0-9]+(?:(?<=[0-9])\.(?=[0-9])[A-Za-z0-9]+)*")

Span = tuple[int, int]


def separate_words(value: str, limit: int = MAX_CHARACTERS) -> str:
    """Put spaces between the words of a text for `to_tsvector`; cut the text at the limit.

    `getUserName` becomes `get User Name getUserName`, `page_index` becomes two words, and
    scripts without spaces become pairs of adjacent characters.
    """
    clean = normalise(_UNSTORABLE.sub(" ", value))
    cut = _SEPARATOR.sub(" ", clean[:limit])
    cut = " ".join(map(_add_parts, cut.split()))
    cut = _UNSPACED.sub(lambda run: f" {' '.join(character_pairs(run[0]))} ", cut)
    return cut[:limit]


def _add_parts(word: str) -> str:
    if word[1:].islower():  # most words: no camelCase
        return word
    return _RUN.sub(lambda run: " ".join([*camel_case_parts(run[0]), run[0]]), word)


def compounds(value: str) -> list[str]:
    """Return identifiers that are also kept whole: paths, flags and snake_case names."""
    clean = _UNSTORABLE.sub(" ", value)
    return [
        word.lower()
        for word in literals.find_identifiers(clean)
        if len(word) <= MAX_LEXEME_LENGTH and not word.isalnum()
    ]


def has_digit(compound: str) -> bool:
    """Return whether an identifier is an id or a version, not a name made of words."""
    return any(map(str.isdecimal, compound))


def camel_case_parts(run: str) -> list[str]:
    """Return the words of a camelCase name."""
    return _JOINT.split(run)


def character_pairs(run: str) -> list[str]:
    """Return all pairs of adjacent characters; return a single character as it is."""
    return [run[i : i + 2] for i in range(len(run) - 1)] or [run]


def find_words(value: str, start: int, end: int) -> Iterator[re.Match[str]]:
    """Find the words between two places of a text, to mark them."""
    return (_ASCII_WORD if value.isascii() else _WORD).finditer(value, start, end)


def part_spans(word: str) -> list[Span]:
    """Return the start and end of each part of a camelCase name or of an unspaced text."""
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
    # Python's lower case of this letter has two characters; PostgreSQL's has one.
    return normalise(word).replace("İ", "i").lower()
