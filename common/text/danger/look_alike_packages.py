"""Find installs of a package whose name differs by one edit from a well-known package's.

`pip install reqeusts` takes the code of a stranger. The well-known names are in
`words/packages.txt`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from common.text.danger.word_tables import FOLDER
from common.text.supply.sources import find_sources
from common.text.text_tables import read_groups

# Shorter names have too many neighbours.
MIN_LENGTH = 5
_INSTALL = re.compile(r"\b(?:install|add|i|require|get)\b")
_PUNCTUATION = "`'\".,;:!?)"
_SEPARATORS = re.compile(r"[-_.]+")


def find_look_alikes(text: str) -> Iterator[tuple[int, int]]:
    """Yield the places of the names, in a text in lower case."""
    if not _INSTALL.search(text):
        return
    for source in find_sources(text):
        name = source.name.rstrip(_PUNCTUATION)
        if source.kind in _names() and is_look_alike(name, source.kind):
            for place in re.finditer(re.escape(name).replace(r"\-", "[-_.]"), text):
                yield place.span()


def is_look_alike(name: str, index: str) -> bool:
    """Return whether a name is one edit away from a well-known name, and none itself."""
    plain = _plain(name)
    well_known = _names()[index]
    if len(plain) < MIN_LENGTH or plain in well_known:
        return False
    return any(
        is_one_edit(plain, each) for each in well_known if len(each) >= MIN_LENGTH
    )


def is_one_edit(one: str, other: str) -> bool:
    """Return whether a letter was added, left out, replaced, or swapped with the next."""
    short, long = sorted((one, other), key=len)
    start = next((i for i, c in enumerate(short) if c != long[i]), len(short))
    if len(long) - len(short) == 1:
        return short[start:] == long[start + 1 :]
    if len(long) != len(short) or start == len(short):
        return False
    is_swap = short[start : start + 2] == long[start : start + 2][::-1]
    rest = short[start + 1 :] == long[start + 1 :]
    return rest or (is_swap and short[start + 2 :] == long[start + 2 :])


@cache
def _names() -> dict[str, frozenset[str]]:
    groups = read_groups(FOLDER / "packages.txt")
    return {index: frozenset(map(_plain, names)) for index, names in groups.items()}


def _plain(name: str) -> str:
    """Return a name without its separators, which are easily mistaken too."""
    return _SEPARATORS.sub("", name.lower())
