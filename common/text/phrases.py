"""Find the phrases of a table in a sentence, in any script.

A table has a phrase on each line, and behind a colon its role.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

# Scripts that put no space between words.
UNSPACED = re.compile(r"[\u0e00-\u0eff\u2e80-\u9fff\uac00-\ud7af\uff66-\uff9d]")


def read(table: Path) -> dict[str, list[str]]:
    """Return the phrases of a table by their roles."""
    roles: dict[str, list[str]] = {}
    for line in table.read_text(encoding="utf-8").splitlines():
        phrase, _, role = line.partition(": ")
        roles.setdefault(role, []).append(phrase)
    return roles


def compile_any(phrases: Iterable[str]) -> re.Pattern[str]:
    """Return a pattern that finds any of the phrases, as whole words."""
    # The longest first: "never mind" before "never".
    ordered = sorted(filter(None, phrases), key=len, reverse=True)
    return re.compile("|".join(map(_pattern, ordered)) or r"(?!)", re.IGNORECASE)


def _pattern(phrase: str) -> str:
    words = r"\s{1,3}".join(map(re.escape, phrase.split()))
    words = words.replace("'", "['\u2019]")
    return words if UNSPACED.search(phrase) else rf"(?<!\w){words}(?!\w)"
