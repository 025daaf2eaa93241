# ruff: noqa: RUF001  # letters of many scripts are what this module folds
"""Cut text into words, for search, snippets and comparison: docs/ranking.md, "Words".

PostgreSQL's own parser takes `src/auth.py` for one file name, `List<String>` for a list and
a tag, and a Japanese sentence for one word. This module therefore cuts identifiers into
their parts first. It also keeps the whole identifiers. PostgreSQL then stems the words.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator
from functools import lru_cache
from itertools import accumulate, pairwise
from typing import NamedTuple

from common.text import literals
from common.text.normalise import (
    BASIC_MARKS,
    FURTHER_MARKS,
    LAST_BASIC,
    MARK,
    normalise,
)
from common.text.visible import (
    ACCENTS,
    BASIC_CONCEALING,
    FURTHER_CONCEALING,
    ORDINARY,
)

# The longest word, in characters. PostgreSQL refuses lexemes over 2,046 bytes, and nobody
# searches for longer words.
MAX_LEXEME_LENGTH = 200
# The most characters of a row after the text is cut into words, with the folded words. An
# unspaced script has five for each letter. In the worst case, rare ideographs with lexemes
# of 20 bytes each, the row then stays under the 1 MB that a tsvector holds.
MAX_CHARACTERS = 250_000

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
# Characters that no reader sees, and the stroke that stretches an Arabic word.
_INVISIBLE = re.compile(f"[{ORDINARY}{BASIC_CONCEALING}\u0640]")
_FURTHER_INVISIBLE = re.compile(f"[{FURTHER_CONCEALING}]")
# The short vowels of Arabic, Hebrew and Syriac, which most texts leave out.
_POINTS = re.compile(
    "[\u064b-\u0652\u0656-\u065f\u0670\u06d6-\u06dc\u06df-\u06e8\u06ea-\u06ed\u08d3-\u08ff"
    "\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0730-\u074a]"
)
# Letters that are typed for an apostrophe.
_APOSTROPHES = "\u02b9-\u02bf\u055a\u05f3\u05f4\ua78b\ua78c"
# Every character is a separator except letters, marks, digits, the point in a number, and
# the hyphen in a compound. PostgreSQL itself cuts compounds with hyphens. The lookbehinds
# come last, because the pattern took twice as long with lookbehinds in front.
_JOINERS = r"_|-(?:(?<![^\W\d_]-)|(?![^\W\d_]))|\.(?:(?<![0-9]\.)|(?![0-9]))"
_ASCII_SEPARATOR = re.compile(rf"[^\w\s.-]|{_JOINERS}")
_SEPARATOR = re.compile(
    rf"[^\w\s.{BASIC_MARKS}-](?:(?<=[\0-{LAST_BASIC}])|(?<![{FURTHER_MARKS}]))"
    rf"|[{_APOSTROPHES}]|{_JOINERS}"
)
# The pattern matches only from the start of a word. Otherwise it would try to match from
# each letter of a long word.
_RUN = re.compile(r"(?<![^\W_])[^\W_]*?(?:[a-z0-9][A-Z]|[A-Z]{2}[a-z])[^\W_]*")
_JOINT = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
# An identifier whose hyphen or underscore people leave out: `ADR-016`, `utf_8`.
_NUMBERED = re.compile(r"[^\W\d_]+(?:[-_]\d+)+")
# A short word in capitals is a name (`IT`, `WHO`), although the language has it as a word
# that says nothing.
_CAPITALS = re.compile(r"\b[A-Z]{2,3}\b")
MAX_CAPITALS = (
    12  # characters of a text whose capitals are names, although all are capitals
)

# Scripts that are written without spaces, and Korean, which writes particles with a word.
_UNSPACED_BLOCKS = (
    (0x0E00, 0x0EFF),  # Thai, Lao
    (0x1000, 0x109F),  # Burmese
    (0x1780, 0x17FF),  # Khmer
    (0x1950, 0x19DF),  # Tai Le, New Tai Lue
    (0x1A20, 0x1AAF),  # Tai Tham
    (0x3005, 0x3007),
    (0x3040, 0x30FF),  # kana
    (0x3100, 0x312F),  # Bopomofo
    (0x31A0, 0x31BF),
    (0x31F0, 0x31FF),
    (0x3400, 0x4DBF),  # Han
    (0x4E00, 0x9FFF),
    (0xA980, 0xA9FF),  # Javanese, Burmese
    (0xAA60, 0xAADF),  # Burmese, Tai Viet
    (0xAC00, 0xD7A3),  # Hangul
    (0xF900, 0xFAFF),
    (0xFF66, 0xFF9D),  # half-width kana
)
_UNSPACED = (
    "".join(
        letter
        for first, last in _UNSPACED_BLOCKS
        for letter in map(chr, range(first, last + 1))
        if letter.isalpha() and letter not in BASIC_MARKS
    )
    + "\U0001b000-\U0001b16f\U00020000-\U0003347f"
)
# A letter of an unspaced script with its marks, or a word.
_UNIT = rf"[{_UNSPACED}]{MARK}*+"
_SPACED_LETTER = rf"[^\W_{_UNSPACED}]"
_SPACED = rf"{_SPACED_LETTER}++(?:{MARK}++{_SPACED_LETTER}*+)*+"
_UNITS = re.compile(_UNIT)
_PIECES = re.compile(rf"(?P<unspaced>(?:{_UNIT})++)|[^{_UNSPACED}]+")
_WORD = re.compile(
    rf"(?P<unspaced>(?:{_UNIT})++)|{_SPACED}(?:(?<=[0-9])\.(?=[0-9]){_SPACED})*+"
)
# This pattern does the same for ASCII texts, in half the time.
_ASCII_WORD = re.compile(r"[A-Za-z0-9]+(?:(?<=[0-9])\.(?=[0-9])[A-Za-z0-9]+)*")

# NFKC writes the vowel `am` of Thai and Lao as a mark and a letter.
_AM = (("\u0e4d\u0e32", "\u0e33"), ("\u0ecd\u0eb2", "\u0eb3"))
# Accents, the hamza, and the nukta of Indian scripts. Other marks are vowels.
_ACCENT = re.compile(f"[{ACCENTS}\u0653-\u0655\u093c\u09bc\u0a3c\u0abc\u0b3c\u0cbc]")
# Letters that people also write as these, and that Unicode does not take apart.
_LETTERS = (
    {"ß": "ss", "æ": "ae", "œ": "oe", "þ": "th", "ø": "o", "đ": "d", "ð": "d", "ł": "l"}
    | {"ħ": "h", "ı": "i", "ŋ": "n", "ɓ": "b", "ɗ": "d", "ƙ": "k"}
    | {"ς": "σ", "ґ": "г"}
    | {"ٱ": "ا", "ى": "ي", "ی": "ي", "ة": "ه", "ہ": "ه", "ھ": "ه", "ک": "ك"}
)
# Letters of their own, although Unicode takes them apart.
_WHOLE = frozenset("йў")
_INNER_VOWELS = re.compile(r"(?<=[א-ת])[יו](?=[א-ת])")

# A process caches the spellings of this many words (4 MB), of at most so many characters.
MAX_CACHED, MAX_CACHED_LENGTH = 20_000, 30

Span = tuple[int, int]


class IndexedText(NamedTuple):
    """The words of a text, separated by spaces, for `to_tsvector`.

    `folded` has as many words as `exact`, without accents. Where `exact` has a pair of
    letters of an unspaced script, `folded` has the first letter. Most English texts have
    two equal texts.
    """

    exact: str
    folded: str

    @property
    def length(self) -> int:
        """The characters for which `to_tsvector` makes lexemes."""
        return len(self.exact) + (len(self.folded) if self.has_folds else 0)

    @property
    def has_folds(self) -> bool:
        return self.exact != self.folded


def words(text: str) -> list[str]:
    """Return the words of a text in order, in lower case and NFKC.

    Marks and accents stay, because two words can differ by them alone; `fold` drops them.
    Each letter of a script without spaces is a word.
    """
    if text.isascii():
        return _ASCII_WORD.findall(text.lower())
    found: list[str] = []
    for match in _WORD.finditer(_lower(_clean(text))):
        found += _UNITS.findall(match[0]) if match["unspaced"] else [match[0]]
    return found


def fold(word: str) -> str:
    """Return a word of `words` without accents, points and variants of letters.

    Hebrew words also lose the letters for vowels that a text with points leaves out.
    """
    if word.isascii():
        return word
    folded = "".join(map(_fold_letter, word))
    return _INNER_VOWELS.sub("", folded)


def index_text(value: str, limit: int = MAX_CHARACTERS) -> IndexedText:
    """Return the words of a text for the index; cut them at the limit.

    `getUserName` becomes `get user name getusername`, `page_index` becomes two words, and
    scripts without spaces become pairs of adjacent letters.
    """
    clean = _clean(value[:limit])
    if clean.isascii():
        cut = " ".join(map(_add_parts, _ASCII_SEPARATOR.sub(" ", clean).split()))
        cut = cut[:limit].lower()
        return IndexedText(cut, cut)
    cut = _POINTS.sub("", _SEPARATOR.sub(" ", clean))
    exact: list[str] = []
    folded: list[str] = []
    for word in _lower(" ".join(map(_add_parts, cut.split()))).split():
        if word.isascii():
            exact.append(word)
            folded.append(word)
            continue
        for piece in _PIECES.finditer(word):
            units = _UNITS.findall(piece[0]) if piece["unspaced"] else []
            exact += (
                [*map("".join, pairwise(units)), units[-1]] if units else [piece[0]]
            )
            folded += units or [fold(piece[0])]
    sizes = accumulate(len(a) + len(b) + 2 for a, b in zip(exact, folded, strict=True))
    keep = bisect_right(list(sizes), limit)
    return IndexedText(" ".join(exact[:keep]), " ".join(folded[:keep]))


def _clean(value: str) -> str:
    """Return a storable text in NFKC, without the characters that no reader sees."""
    if value.isascii():
        return value.replace("\0", " ")
    clean = _INVISIBLE.sub("", normalise(_UNSTORABLE.sub(" ", value)))
    if max(clean, default="") > LAST_BASIC:
        clean = _FURTHER_INVISIBLE.sub("", clean)
    for apart, together in _AM:
        clean = clean.replace(apart, together)
    return clean


def _lower(text: str) -> str:
    # Python's lower case of this letter has two characters; PostgreSQL's has one.
    return text.replace("İ", "i").lower()


@lru_cache(maxsize=8192)
def _fold_letter(letter: str) -> str:
    if letter in _WHOLE or _UNITS.match(letter):
        return letter
    digit = unicodedata.decimal(letter, None)
    if digit is not None:
        return str(digit)
    parts = _ACCENT.sub("", unicodedata.normalize("NFD", _POINTS.sub("", letter)))
    return "".join(_LETTERS.get(part, part) for part in parts)


def _add_parts(word: str) -> str:
    if word[1:].islower():  # most words: no camelCase
        return word
    return _RUN.sub(lambda run: " ".join([*camel_case_parts(run[0]), run[0]]), word)


def camel_case_parts(run: str) -> list[str]:
    """Return the words of a camelCase name."""
    return _JOINT.split(run)


def compounds(value: str) -> list[str]:
    """Return identifiers that are also kept whole: paths, flags and snake_case names.

    An identifier with a number is also returned without its hyphens, so that `adr016`
    finds `ADR-016`.
    """
    clean = _clean(value)
    found = [
        word.lower()
        for word in literals.find_identifiers(clean)
        if len(word) <= MAX_LEXEME_LENGTH and not word.isalnum()
    ]
    joined = [re.sub("[-_]", "", word) for word in found if _NUMBERED.fullmatch(word)]
    return list(dict.fromkeys([*found, *joined]))


def names_in_capitals(value: str) -> list[str]:
    """Return short words in capitals, which are no stop words (`IT`, `WHO`).

    Capitals say nothing in a text that has no other letters.
    """
    if len(value) > MAX_CAPITALS and value.isupper():
        return []
    return list({name.lower() for name in _CAPITALS.findall(value)})


def has_digit(compound: str) -> bool:
    """Return whether an identifier is an id or a version, not a name made of words."""
    return any(map(str.isdecimal, compound))


def find_words(value: str, start: int, end: int) -> Iterator[re.Match[str]]:
    """Find the words between two places of a text, to mark them."""
    return (_ASCII_WORD if value.isascii() else _WORD).finditer(value, start, end)


def part_spans(word: str) -> list[Span]:
    """Return the place of each part of a camelCase name or of an unspaced text, in order.

    The parts of an unspaced text are its letters and the pairs of them.
    """
    if word.islower() or word.istitle():
        return []
    if _UNITS.match(word):
        units = [unit.span() for unit in _UNITS.finditer(word)]
        pairs = [(first[0], second[1]) for first, second in pairwise(units)]
        return sorted([*units, *pairs], key=lambda span: (span[0], -span[1]))
    if not _RUN.fullmatch(word):
        return []
    ends = list(accumulate(map(len, camel_case_parts(word))))
    return list(zip([0, *ends], ends, strict=False))


def unspaced_letters(word: str) -> list[str]:
    """Return the letters of an unspaced script in a word."""
    return [] if word.isascii() else _UNITS.findall(word)


def spellings(word: str) -> tuple[str, str]:
    """Return a word of a text as `index_text` has it: exact and folded."""
    if word.isascii():
        lower = word.lower()
        return lower, lower
    spell = _spell_short if len(word) <= MAX_CACHED_LENGTH else _spell
    return spell(word)


def _spell(word: str) -> tuple[str, str]:
    exact = _POINTS.sub("", _lower(_clean(word)))
    return exact, fold(exact)


_spell_short = lru_cache(maxsize=MAX_CACHED)(_spell)  # words and pairs of letters recur
