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

# Characters that ordinary text has: joiners of emoji and of Persian, a soft hyphen, marks
# of direction, a byte order mark, the two presentation selectors.
ORDINARY = "\u00ad\u200c-\u200f\ufe0e\ufe0f\ufeff"
# The other characters without a visible form: Cf, Default_Ignorable_Code_Point, variation
# selectors. Unicode reserves whole blocks for them, so that the ranges have few gaps.
BASIC_CONCEALING = (
    "\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u115f\u1160\u17b4\u17b5"
    "\u180b-\u180f\u200b\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0d\uffa0\ufff0-\ufffb"
)
FURTHER_CONCEALING = (
    "\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3"
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
CONCEALING = BASIC_CONCEALING + FURTHER_CONCEALING
CONTROLS = "\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f"  # C0 and C1 but white space
# White space that ends a line in some programs, or looks like a space.
SPACES = {
    **dict.fromkeys("\x0b\x0c\x1c\x1d\x1e\x1f", " "),
    **dict.fromkeys("\x85\u2028\u2029", "\n"),
}

_INVISIBLE = re.compile(f"[{ORDINARY}{CONCEALING}{CONTROLS}]")
_SPACE = re.compile(f"[{''.join(SPACES)}]")

# Marks that any letter can have. The marks of other blocks belong to their scripts.
ACCENTS = "\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f"
_ACCENT = re.compile(f"[{ACCENTS}]+")
# An em dash: editors write `--force` with it.
_FOLDS = {
    "\u2014": "--",
    "\u2015": "--",
    **dict.fromkeys("\u201c\u201d\u201e\u201f", '"'),
}
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
    if text.isascii() and drop_invisible(text) == text:
        return MatchingForm(text, range(len(text)))
    folded = [_fold(character) for character in text]
    origins = [place for place, part in enumerate(folded) for _ in part]
    return MatchingForm("".join(folded), origins)


@lru_cache(maxsize=4096)
def _fold(character: str) -> str:
    if _INVISIBLE.match(character):
        return ""
    letters = _drop_accents(SPACES.get(character, character))
    composed = unicodedata.normalize("NFKC", letters)
    return _INVISIBLE.sub("", composed.translate(_look_alikes()))


def _drop_accents(text: str) -> str:
    return _ACCENT.sub("", unicodedata.normalize("NFKD", text))


@cache
def _look_alikes() -> dict[int, str]:
    """Return the ASCII form of each character that looks like ASCII."""
    data = files("confusable_homoglyphs").joinpath("confusables.json")
    table = json.loads(data.read_text(encoding="utf-8"))
    found = {
        ord(source): "I" if target == "l" and source.isupper() else target
        for source, rows in table.items()
        if len(source) == 1 and not source.isascii() and not _UNFOLDED.match(source)
        for row in rows
        if (target := _drop_accents(row["c"])).isascii()
    }
    return found | {ord(source): target for source, target in _FOLDS.items()}
