"""Read tables of words and patterns from text files: UTF-8, one entry on each line."""

from __future__ import annotations

from pathlib import Path

WORDS = Path(__file__).parent / "words"


def read_lines(path: Path) -> list[str]:
    """Return the lines of a table, without empty ones."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line.strip()]


def read_groups(path: Path) -> dict[str, frozenset[str]]:
    """Return the entries below each line `[name]`, by that name."""
    groups: dict[str, set[str]] = {}
    name = ""
    for line in read_lines(path):
        if line.startswith("["):
            name = line[1:-1]
        else:
            groups.setdefault(name, set()).add(line)
    return {name: frozenset(entries) for name, entries in groups.items()}
