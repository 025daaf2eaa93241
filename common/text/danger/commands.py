"""Find dangerous commands and settings by the patterns of `words/commands.txt`.

`<FETCH>` and `<SHELL>` in a pattern stand for the programs of `words/programs.txt`.
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
    pattern: re.Pattern[str]


def find_commands(text: str) -> Iterator[tuple[str, int, int]]:
    """Yield the kind and the place of each dangerous command."""
    for row in _patterns():
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
        for name, program in programs.items():
            line = line.replace(f"<{name.upper()}>", program)
        rows.append(CommandPattern(kind, re.compile(line)))
    return tuple(rows)
