"""What a reader sees of a text, and the form in which texts are matched.

`drop_invisible` is for display, `matching_form` for patterns. A pattern on the matching
form also finds a word that soft hyphens, full-width letters or letters of another script
disguise.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from itertools import chain

from common.text.normalise import LAST_MARK, MARKS, normalise

# Characters that ordinary text has: joiners of emoji and of Persian, a soft hyphen, marks
# of direction, a byte order mark, the two presentation selectors.
ORDINARY = "\u00ad\u200c-\u200f\ufe0e\ufe0f\ufeff"
# The other characters without a visible form: Cf, Default_Ignorable_Code_Point, variation
# selectors. Unicode reserves whole blocks for them, so that the ranges have few gaps.
CONCEALING = (
    "\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u115f\u1160\u17b4\u17b5"
    "\u180b-\u180f\u200b\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0d\uffa0\ufff0-\ufffb"
    "\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3"
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
CONTROLS = "\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f"  # C0 and C1 but white space
# White space that ends a line in some programs, or looks like a space.
SPACES = {
    **dict.fromkeys("\x0b\x0c\x1c\x1d\x1e\x1f", " "),
    **dict.fromkeys("\x85\u2028\u2029", "\n"),
}
BLANKS = {**SPACES, **dict.fromkeys("\u1680\u2800", " ")}

_INVISIBLE = re.compile(f"[{ORDINARY}{CONCEALING}{CONTROLS}]")
_SPACE = re.compile(f"[{''.join(SPACES)}]")

# Marks that any letter can have. The marks of other blocks belong to their scripts.
_ACCENT = re.compile(
    "[\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]+"
)
_PLAIN = r"\t\n\r -~"
# A run of ASCII, or one character with the marks and jamo that compose with it.
_CLUSTER = re.compile(rf"[{_PLAIN}]+(?![{MARKS}])|.[{MARKS}\u1160-\u11ff]*", re.DOTALL)
_PLAIN_TEXT = re.compile(f"[{_PLAIN}]*")

# Where Unicode's table has no target, or one that changes the sense of a command.
_FOLDS = {
    "\u2014": "--",  # an em dash: editors write `--force` with it
    "\u2015": "--",
    **dict.fromkeys("\u201c\u201d\u201e\u201f", '"'),
    **dict.fromkeys("\u2223\u2502\u2503\uffe8\u23d0\u23fd", "|"),
}
# Letters that the table of look-alikes leaves out: their names say which letter they are.
_LETTER_BLOCKS = (
    range(0x180, 0x2B0),
    range(0x1D00, 0x1DC0),
    range(0x1E00, 0x1F00),
    range(0x2C60, 0x2C80),
    range(0xA720, 0xA800),
    range(0xAB30, 0xAB70),
    range(0x1F110, 0x1F200),
)
_LETTER_NAME = re.compile(
    r"(?:LATIN (?:LETTER )?(SMALL)|.*LATIN CAPITAL|REGIONAL INDICATOR SYMBOL)"
    r"(?: CAPITAL)?(?: LETTER)?(?: [A-Z]{2,})? ([A-Z])(?: WITH .*)?"
)
# Scripts without cases or similar letters; their strokes look like `/`, `\` and `-`.
_UNFOLDED = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3]")


@dataclass(frozen=True)
class MatchingForm:
    """A folded text. `origins` has the index of each character in the original text."""

    text: str
    origins: Sequence[int]

    def origin_span(self, start: int, end: int) -> tuple[int, int]:
        """Return the place in the original text of a match that is not empty."""
        return self.origins[start], self.origins[end - 1] + 1


def drop_invisible(text: str) -> str:
    """Drop each character without a visible form, ESC and other controls included.

    Tabs and line breaks stay. Other white space that ends a line becomes plain.
    """
    if text.isascii() and text.isprintable():
        return text
    return _SPACE.sub(lambda space: SPACES[space[0]], _INVISIBLE.sub("", text))


def matching_form(text: str) -> MatchingForm:
    """Return NFKC without accents and invisible characters, look-alikes as ASCII.

    For matching only: what is not Latin is not readable any more.
    """
    if _PLAIN_TEXT.fullmatch(text):
        return MatchingForm(text, range(len(text)))
    parts: list[str] = []
    origins: list[int] = []
    for match in _CLUSTER.finditer(text):
        start, end = match.span()
        cluster = match[0]
        if cluster.isascii() and end - start > 1:
            parts.append(cluster)
            origins.extend(range(start, end))
        elif folded := _fold(cluster):
            parts.append(folded)
            origins.extend([start] * len(folded))
    return MatchingForm("".join(parts), origins)


@lru_cache(maxsize=4096)
def _fold(cluster: str) -> str:
    """Fold one character and its marks."""
    letters = _ACCENT.sub("", normalise(_INVISIBLE.sub("", cluster), "NFKD"))
    return _INVISIBLE.sub("", normalise(letters).translate(_folds()))


@cache
def look_alikes() -> dict[str, str]:
    """Return the ASCII form of each character that looks like ASCII."""
    return {chr(point): target for point, target in _folds().items()}


@cache
def _folds() -> dict[int, str]:
    given = {ord(source): target for source, target in {**_FOLDS, **BLANKS}.items()}
    return _named_letters() | _look_alikes() | _digits() | given


def _look_alikes() -> dict[int, str]:
    data = files("confusable_homoglyphs").joinpath("confusables.json")
    table = json.loads(data.read_text(encoding="utf-8"))
    return {
        ord(source): target
        for source, rows in table.items()
        if len(source) == 1 and not source.isascii() and not _UNFOLDED.match(source)
        for row in rows
        if (target := _ascii_form(source, row["c"]))
    }


def _ascii_form(source: str, target: str) -> str:
    """Return the target of a look-alike without overlays, if the target is ASCII.

    The table has one sign for `l`, `I`, `1` and `|`: its case is the one of the source.
    """
    plain = _ACCENT.sub("", normalise(target, "NFKD"))
    if not plain.isascii():
        return ""
    if plain == "l" and source.isupper():
        return "I"
    return plain


def _named_letters() -> dict[int, str]:
    names = (
        (point, _LETTER_NAME.fullmatch(unicodedata.name(chr(point), "")))
        for point in chain.from_iterable(_LETTER_BLOCKS)
    )
    return {
        point: match[2].lower() if match[1] else match[2]
        for point, match in names
        if match
    }


def _digits() -> dict[int, str]:
    digits = (
        (point, unicodedata.decimal(chr(point), None))
        for point in range(0x80, LAST_MARK + 1)
    )
    return {point: str(digit) for point, digit in digits if digit is not None}
