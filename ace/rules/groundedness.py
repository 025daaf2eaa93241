"""Check that every literal of a sentence is in its evidence."""

from __future__ import annotations

import re
from collections.abc import Iterable

# A quote has at most 300 characters. A longer quote would copy the log into the lesson.
_LITERAL = re.compile(
    r"`(?P<code>[^`\n]{1,300})`"
    r"|\"(?P<quoted>[^\"\n]{1,300})\""
    r"|(?<![\w.])(?P<number>\d{1,30}(?:[.,:]\d{1,30}){0,5})(?![\w])"
    r"|(?<![\w/.-])(?P<path>(?:[\w.~-]{1,80}/){1,20}[\w.-]{1,80})"
    r"|(?<!\w)(?P<identifier>[A-Za-z]\w{0,80}(?:_\w{1,80}|[a-z][A-Z]\w{0,80}"
    r"|\.[a-z_]\w{0,80}|\d\w{0,80})|\w{1,80}\(\))"
)
# These words look like paths.
_WORDS = frozenset({"and/or", "his/her", "w/o", "n/a", "e.g", "i.e"})


def literals(text: str) -> list[str]:
    """Return the numbers, paths, identifiers and quoted texts of a text, in order."""
    found = []
    for match in _LITERAL.finditer(text):
        value = next(value for value in match.groupdict().values() if value)
        if value.lower() not in _WORDS:
            found.append(value.rstrip("."))
    return found


def is_grounded(text: str, quotes: Iterable[str]) -> bool:
    """Return whether every literal of the text occurs in one of the quotes."""
    known = list(quotes)
    return all(any(literal in quote for quote in known) for literal in literals(text))
