"""Say whether a repair or a text leads to another package, remote, host or index."""

from __future__ import annotations

import re
from collections.abc import Iterable, Set
from functools import cache
from itertools import combinations

from common.text.supply.sources import CodeSource, find_sources, read_table
from common.text.visible import matching_form

MAX_NAMED = 3
MAX_SPANS = 30  # spans of a text that are compared with each other
# The remote that a command means if it names none.
DEFAULT_REMOTE = CodeSource("remote", "origin")

_CODE = re.compile(r"`([^`\n]{1,300})`|\"([^\"\n]{1,300})\"")
_WORD = re.compile(r"[\w@][\w@/.-]{0,200}")


def describe_change(
    before: Set[CodeSource], after: Set[CodeSource], texts: Iterable[str] = ()
) -> str:
    """Return a sentence about the sources that only `after` has, or an empty text.

    A name that the texts of `before` already say is no other name: a missing program may
    be installed.
    """
    said = {word.lower() for text in texts for word in _WORD.findall(text)}
    new = {source for source in after - before if source.name not in said}
    if not any(source.kind == "remote" for source in before):
        new.discard(DEFAULT_REMOTE)
    if not new:
        return ""
    names = ", ".join(source.name for source in sorted(new)[:MAX_NAMED])
    return f"It leads to another package, remote, host, registry or index: {names}."


def describe_text(text: str) -> str:
    """Return a sentence if the text itself replaces one source by another one."""
    spans = [a or b for a, b in _CODE.findall(text)]
    known = [found for span in spans if (found := find_sources(span))][:MAX_SPANS]
    for one, other in combinations(known, 2):
        if change := _describe_difference(one, other):
            return change
    if any(" " in span.strip() for span in spans):
        return ""  # the commands in the text say it more exactly
    prose = " ".join(_CODE.sub(" ", matching_form(text).text).lower().split())
    is_contrast = any(phrase in prose for phrase in _table("contrasts"))
    if is_contrast and _table("nouns") & set(_WORD.findall(prose)):
        return "It replaces a package, remote, host, registry or index by another one."
    return ""


def _describe_difference(one: Set[CodeSource], other: Set[CodeSource]) -> str:
    kinds = {source.kind for source in one} & {source.kind for source in other}
    left = {source for source in one if source.kind in kinds}
    right = {source for source in other if source.kind in kinds}
    return "" if left <= right or right <= left else describe_change(left, right)


@cache
def _table(name: str) -> frozenset[str]:
    return frozenset(read_table(name))
