"""Cut text into words as the index and every query do: docs/ranking.md, "Words".

PostgreSQL's parser alone takes `src/auth.py` for one file name, `List<String>` for a
list and a tag, and a Japanese sentence for one word. Here code is cut at its joints
first, the whole identifier stays beside its parts, and stemming is left to PostgreSQL.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from itertools import accumulate

from common.text import literals

# PostgreSQL refuses lexemes over 2,046 bytes; nobody searches for longer ones.
MAX_LEXEME_LENGTH = 200
# Characters of a row after cutting: rare CJK pairs, the worst case, then stay under the
# 1 MB that a tsvector holds (about 14 bytes a pair). Each character of a content may
# become three.
MAX_CHARACTERS = 180_000

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
# What separates: everything but letters, digits, the point of a number, and the
# hyphen of a compound, of which PostgreSQL makes the whole and its parts. What precedes is
# looked at last: as the first thing at each character, it took twice as long.
_SEPARATOR = re.compile(
    r"[^\w\s.-]|_|-(?:(?<![^\W\d_]-)|(?![^\W\d_]))|\.(?:(?<!\d\.)|(?!\d))",
)
# From the start of a word only, or a long one would be tried from each letter on.
_RUN = re.compile(r"(?<![^\W_])[^\W_]*?(?:[a-z0-9][A-Z]|[A-Z]{2}[a-z])[^\W_]*")
_JOINT = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
# Scripts written without spaces: kana, Han, and the supplementary ideographs.
_UNSPACED_LETTERS = (
    "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f"
)
_UNSPACED = re.compile(f"[{_UNSPACED_LETTERS}]+")
_WORD = re.compile(
    rf"[{_UNSPACED_LETTERS}]+|[^\W_{_UNSPACED_LETTERS}]+(?:(?<=\d)\.(?=\d)[^\W_{_UNSPACED_LETTERS}]+)*"
)

# The same of texts without any other letter: half the time.
_ASCII_WORD = re.compile(r"[A-Za-z0-9]+(?:(?<=[0-9])\.(?=[0-9])[A-Za-z0-9]+)*")

Span = tuple[int, int]


def separate_words(value: str, most: int = MAX_CHARACTERS) -> str:
    """The text for `to_tsvector`: words between spaces, up to so many characters.

    `getUserName` becomes `get User Name getUserName`, `page_index` two words, and
    scripts without spaces become their pairs of neighbours.
    """
    clean = unicodedata.normalize("NFKC", _UNSTORABLE.sub(" ", value))
    cut = _SEPARATOR.sub(" ", clean[:most])
    cut = " ".join(map(_add_parts, cut.split()))
    cut = _UNSPACED.sub(lambda run: f" {' '.join(character_pairs(run[0]))} ", cut)
    return cut[:most]


def _add_parts(word: str) -> str:
    if word[1:].islower():  # as most are: it has no joint
        return word
    return _RUN.sub(lambda run: " ".join([*camel_case_parts(run[0]), run[0]]), word)


def compounds(value: str) -> list[str]:
    """Identifiers that only stand whole beside the words: paths, flags, snake_case."""
    clean = _UNSTORABLE.sub(" ", value)
    return [
        word.lower()
        for word in literals.find_identifiers(clean)
        if len(word) <= MAX_LEXEME_LENGTH and not word.isalnum()
    ]


def has_digit(compound: str) -> bool:
    """Whether it is an id or a version rather than a name made of words."""
    return any(map(str.isdecimal, compound))


def camel_case_parts(run: str) -> list[str]:
    """The words of a camelCase name."""
    return _JOINT.split(run)


def character_pairs(run: str) -> list[str]:
    """Every two neighbours of a text without spaces; a lone character is itself."""
    return [run[i : i + 2] for i in range(len(run) - 1)] or [run]


def find_words(value: str, start: int, end: int) -> Iterator[re.Match[str]]:
    """The words of a stretch of a text where they stand: for marking them."""
    return (_ASCII_WORD if value.isascii() else _WORD).finditer(value, start, end)


def part_spans(word: str) -> list[Span]:
    """Where the parts of a camelCase name or of an unspaced text stand in it."""
    if word.islower() or word.istitle():
        return []
    if _UNSPACED.match(word):
        return [(at, at + 2) for at in range(len(word) - 1)]
    if not _RUN.fullmatch(word):
        return []
    ends = list(accumulate(map(len, camel_case_parts(word))))
    return list(zip([0, *ends], ends, strict=False))


def fold(word: str) -> str:
    """A word of a text as it is compared, before stemming."""
    if word.isascii():
        return word.lower()
    # Python makes two characters of this letter, PostgreSQL one.
    return unicodedata.normalize("NFKC", word).replace("İ", "i").lower()
