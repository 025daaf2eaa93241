"""Names in one line of text, separated by commas, for the forms of the admin and console."""

from __future__ import annotations

import re
from collections.abc import Iterable

_NAME = re.compile(r'\s*(?:"((?:[^"]|"")*)"\s*|([^,]*))(?:,|\Z)')


def join(names: Iterable[str]) -> str:
    """Write names in one line; `split` returns exactly these names."""
    return ", ".join(map(_quote, names))


def split(text: str) -> list[str]:
    """Return the names of a line.

    Spaces around a name and empty names are left out, except in quotation marks, as in
    `a, "b, c", " d "`. Within them, a quotation mark is doubled.
    """
    names = [
        match[2].strip() if match[1] is None else match[1].replace('""', '"')
        for match in _NAME.finditer(text)
    ]
    return [name for name in names if name]


def _quote(name: str) -> str:
    if name == name.strip() and not any(mark in name for mark in ',"'):
        return name
    return '"' + name.replace('"', '""') + '"'
