"""Whether a sentence says by itself that it lasts, in any language of the list."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from common.text.same_text import fold_form


def says_it_lasts(text: str) -> bool:
    return _pattern().search(fold_form(text).lower()) is not None


@cache
def _pattern() -> re.Pattern[str]:
    path = Path(__file__).parent / "lasting_words.txt"
    words = filter(None, path.read_text(encoding="utf-8").split("\n"))
    return re.compile("|".join(map(_bound, words)))


def _bound(word: str) -> str:
    """Chinese, Japanese and Korean have no spaces between words."""
    return word if word[0] > "\u2e80" else rf"\b{re.escape(word)}\b"
