"""Instruction-shaped phrases in stored text, made harmless and left readable."""

from __future__ import annotations

import re

from common import injections

DOT = "·"


def neutralised(text: str) -> str:
    """The text with each such phrase marked, and broken so that it commands nobody.

    `ignore all previous instructions` becomes `[neutralised:
    ignore·all·previous·instructions]`: visible, searchable, and no instruction.
    """
    spans = _spans(text)
    parts: list[str] = []
    at = 0
    for start, end in spans:
        parts += [text[at:start], f"[neutralised: {_broken(text[start:end])}]"]
        at = end
    return "".join([*parts, text[at:]])


def _spans(text: str) -> list[tuple[int, int]]:
    """Where such phrases stand, joined where they overlap."""
    found = sorted(
        match.span()
        for _, pattern in injections.PATTERNS
        for match in pattern.finditer(text)
        if match.end() > match.start()
    )
    joined: list[tuple[int, int]] = []
    for start, end in found:
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return joined


def _broken(phrase: str) -> str:
    phrase = re.sub(injections.HIDDEN, lambda m: f"U+{ord(m[0]):04X}", phrase)
    spaced = re.sub(r"\s+", DOT, phrase.strip())
    if DOT in spaced:
        return spaced
    return f"{spaced[:1]}{DOT}{spaced[1:]}"
