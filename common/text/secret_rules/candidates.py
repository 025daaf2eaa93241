"""Find secrets that are one long run of characters: tokens of providers.

The rules are many, so they run only on runs that may be a token, with the text before it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from common.text.secret_rules import token_patterns, token_prefixes, upstream_rules
from common.text.secret_rules.spans import Span

_RUN = re.compile(r"[A-Za-z0-9_\-=.+/~%$@|:\\]{16,}")
# A run has a part without dots and slashes that has letters and digits.
_OPAQUE = re.compile(r"[A-Za-z0-9_\-+=]{11,}")
_MIXED = re.compile(r"[A-Za-z][^A-Za-z0-9]*[0-9]|[0-9][^A-Za-z0-9]*[A-Za-z]")
BEFORE = 64  # characters in which the name of a vendor is looked for
MOST = 1200  # characters of a run; a longer run is data, whose start is looked at


@lru_cache(maxsize=4)
def runs_of(text: str) -> list[tuple[int, int, bool]]:
    """Return the start and end of each run, and whether it may be a token of any vendor.

    Several finders ask for the runs of the same text, one after the other.
    """
    return [
        (run.start(), run.end(), _may_be_token(run[0][:MOST]))
        for run in _RUN.finditer(text)
    ]


def find_by_prefix(text: str, lowered: str) -> Iterator[Span]:
    """Find the tokens that start with the prefix of a provider."""
    for start, end, _ in runs_of(text):
        yield from token_prefixes.find_tokens(text, start, min(end, start + 8 * MOST))


def find_by_pattern(text: str, lowered: str) -> Iterator[Span]:
    """Find the tokens that a pattern of ours or a plugin of detect-secrets describes."""
    for start, end, may_be in runs_of(text):
        if may_be:
            yield from token_patterns.find_tokens(text, lowered, start, end)


def find_by_upstream_rules(text: str, lowered: str) -> Iterator[Span]:
    """Find the tokens that a rule of `upstream_rules.json` describes."""
    for start, end, may_be in runs_of(text):
        if may_be:
            first, last = max(start - BEFORE, 0), min(end, start + MOST) + 2
            yield from upstream_rules.find_tokens(text, lowered, first, last)


def _may_be_token(run: str) -> bool:
    return any(_MIXED.search(part) for part in _OPAQUE.findall(run))
