"""Measure how many of the words of a statement are in another text."""

from __future__ import annotations

import re

from common.text import literals, tokenise
from common.text.normalise import normalise

# Shorter words, and the beginnings of these, are in any statement about a user.
_MIN_LENGTH = 4
_COMMON = re.compile(
    r"(?:users?|customers?|agents?|this|that|these|those|with|from|have|does|will|would|their"
    r"|they|there|them|then|than|when|where|which|while|about|into|also|only|wants?|prefers?"
    r"|likes?|needs?|uses?|named?|called|been|being|were|what|your|must|should)$"
)
_STEM = 5  # letters by which forms of one word agree: works, working, worked


def key_words(text: str) -> set[str]:
    """Return the beginnings of the words of a text that are not in every statement.

    Each letter of a script without spaces counts as a word.
    """
    words = map(tokenise.fold, tokenise.words(text))
    return {word[:_STEM] for word in words if _is_key_word(word)}


def _is_key_word(word: str) -> bool:
    if word.isdigit() or tokenise.unspaced_letters(word):
        return True
    return len(word) >= _MIN_LENGTH and not _COMMON.match(word)


def share(statement: str, text: str) -> float:
    """Return which share of a statement's key words is in a text, from 0 to 1.

    A number or an identifier of the statement that the text lacks makes it 0. A statement
    without key words has the share 1.
    """
    folded = " ".join(normalise(text).casefold().split())
    missing = [
        literal
        for literal in literals.find_literals(statement)
        if literal.casefold() not in folded and literal not in folded.replace(",", "")
    ]
    if missing:
        return 0.0
    words = key_words(statement)
    return len(words & key_words(text)) / len(words) if words else 1.0
