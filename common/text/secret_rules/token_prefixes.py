"""Find tokens by the prefixes of `token_prefixes.txt`, however long the provider makes them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from common.text.secret_rules import placeholders
from common.text.secret_rules.spans import Span, has_digit, is_slug
from common.text.text_tables import read_lines

FILE = Path(__file__).with_name("token_prefixes.txt")
# A token is at the start of a word, after the `\n` of text that was escaped, or after `%3D`.
START = r"(?:(?<![A-Za-z0-9])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2}))"
# Letters only: a token so long and without a digit is still no word.
LONG = 30
# The name of a file that has a hash in it.
_FILE = re.compile(r"\.(?:png|jpe?g|gif|svg|ico|webp|css|js|map|woff2?)\Z")


@cache
def _table() -> dict[str, tuple[str, int]]:
    rows = [line.split() for line in read_lines(FILE) if not line.startswith("#")]
    return {prefix: (kind, int(least)) for kind, prefix, least in rows}


@cache
def _pattern() -> re.Pattern[str]:
    longest_first = sorted(_table(), key=len, reverse=True)
    choices = "|".join(map(re.escape, longest_first))
    return re.compile(rf"{START}(?P<prefix>{choices})(?P<tail>[\w\-+/=.]+)", re.ASCII)


def find_tokens(text: str, start: int, end: int) -> Iterator[Span]:
    """Find tokens in a run of characters that has no space."""
    for match in _pattern().finditer(text, start, end):
        tail = match["tail"].rstrip("./")
        for kind, least in _kinds_of(match["prefix"]):
            if len(tail) >= least and _is_drawn(tail):
                yield Span(match.start(), match.start("tail") + len(tail), kind)
                break


@cache
def _kinds_of(prefix: str) -> tuple[tuple[str, int], ...]:
    """Return the kinds of a prefix and of the shorter prefixes that begin it."""
    found = [p for p in _table() if prefix.startswith(p)]
    return tuple(_table()[p] for p in sorted(found, key=len, reverse=True))


def _is_drawn(tail: str) -> bool:
    if placeholders.is_placeholder(tail) or is_slug(tail) or _FILE.search(tail):
        return False
    return has_digit(tail) or (
        len(tail) >= LONG and tail not in (tail.lower(), tail.upper())
    )
