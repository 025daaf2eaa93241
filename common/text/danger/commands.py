"""Find dangerous commands and settings by the patterns of `words/commands.txt`.

A line of the table is `hints :: pattern`. The pattern is tried on texts that have one of
the hints, which `|` separates. `<FETCH>` and `<SHELL>` stand for the programs of
`words/programs.txt`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from common.text.danger.word_tables import read_lines, read_values


@dataclass(frozen=True)
class CommandPattern:
    kind: str
    hints: tuple[str, ...]
    pattern: re.Pattern[str]


def find_commands(text: str) -> Iterator[tuple[str, int, int]]:
    """Yield the kind and the place of each dangerous command."""
    for row in _patterns():
        if any(hint in text for hint in row.hints):
            for match in row.pattern.finditer(text):
                if match.end() > match.start():
                    yield row.kind, *match.span()


@cache
def _patterns() -> tuple[CommandPattern, ...]:
    programs = read_values("programs")
    rows: list[CommandPattern] = []
    kind = ""
    for line in read_lines("commands"):
        if line.startswith("["):
            kind = line[1:-1]
            continue
        hints, _, pattern = line.partition(" :: ")
        for name, program in programs.items():
            pattern = pattern.replace(f"<{name.upper()}>", program)
        rows.append(CommandPattern(kind, _split_hints(hints), re.compile(pattern)))
    return tuple(rows)


def _split_hints(hints: str) -> tuple[str, ...]:
    """Split the hints. A hint that consists of `|` is the sign itself."""
    if not hints.strip("|"):
        return (hints,)
    return tuple(filter(None, hints.split("|")))
