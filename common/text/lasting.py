"""Whether a sentence says by itself that it holds after its task, in any language.

The phrases are in `words/lasting.txt`; a project has more of its own.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import lru_cache

from common.text import phrases
from common.text.text_tables import WORDS

MIN_WORDS = 3

WORD = re.compile(r"\w[\w'\u2019]{0,40}|[^\w\s.,;:!?()\"'-]")
_TABLE = phrases.read(WORDS / "lasting.txt")
_LEAD = rf"(?:(?:{phrases.compile_any(_TABLE['lead']).pattern})[,:]?\s{{1,3}}){{0,4}}"
_OPENINGS = phrases.compile_any([*_TABLE["opens"], *_TABLE["edges"]]).pattern
# At the beginning of the sentence, or of a clause: "If it fails, always ask."
_OPENS = re.compile(
    rf"(?:^[^\w*#]{{0,3}}|[,:;\u2013\u2014-]\s{{1,3}}){_LEAD}(?:{_OPENINGS})",
    re.IGNORECASE,
)
_ENDS = re.compile(
    rf"(?:{phrases.compile_any(_TABLE['edges']).pattern})\W{{0,3}}$", re.IGNORECASE
)
# A question asks, and what ends in a colon introduces somebody else's words.
_NO_ORDER = ("?", "\uff1f", "\u061f", ":", "\uff1a")
_EXCEPT = phrases.compile_any(_TABLE["not"])


def says_it_lasts(sentence: str, own_phrases: Collection[str] = ()) -> bool:
    """Return whether a sentence has such a phrase; `own_phrases` are those of the project."""
    text = sentence.strip()
    count = len(WORD.findall(text)) + len(phrases.UNSPACED.findall(text))
    if text.endswith(_NO_ORDER) or count < MIN_WORDS:
        return False
    if _EXCEPT.match(text):
        return False
    patterns = (_OPENS, _ENDS, _anywhere(tuple(own_phrases)))
    return any(pattern.search(text) for pattern in patterns)


@lru_cache(maxsize=64)
def _anywhere(own: tuple[str, ...]) -> re.Pattern[str]:
    return phrases.compile_any([*_TABLE["anywhere"], *own])
