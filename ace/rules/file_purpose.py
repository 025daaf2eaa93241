"""Say what a file is for, in its own words: its first comment, or the names it declares."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

MAX_LINES = 80  # of a file, in which it says what it is for
MAX_LINE = 400  # characters
MAX_PURPOSE = 120  # characters
MIN_PURPOSE = 12  # characters; a shorter comment says nothing
MAX_NAMES = 60  # declarations of one text
NAMED = 4  # declarations that stand for a description

# The mark of a line that is a comment, or a heading of a document.
_COMMENT = re.compile(r"(?://+!?|#+|--+|;+|%+|\"\"\"|'''|/?\*+!?)[ \t]{0,8}")
_OPENING = re.compile(r"/\*|\"\"\"|'''")
_CLOSING = re.compile(r"\*/|\"\"\"|'''")
# Lines that may stand before the first comment.
_PREAMBLE = re.compile(
    r"(?:#!|<\?|---$|['\"]use |package\b|import\b|from\b|using\b|use\b|require\b|include\b"
    r"|module\b|namespace\b|@|#include|#pragma|\)$|\}$|[\w\"'./@-]{1,200},?;?$)"
)
# What stands at the top of many files, and says nothing of this one.
_BOILERPLATE = re.compile(
    r"copyright|licen[sc]e|spdx|all rights reserved|generated|do not edit|eslint|prettier"
    r"|noqa|pylint|mypy|coding[:=]|frozen_string|go:build|\+build|nolint|@ts-|@flow|vim:",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"(.{12,400}?[.!?])(?=\s|$)")
_DECLARATION = re.compile(
    r"\b(?:func|def|class|type|fn|interface|struct|function|module|enum|trait|impl|object"
    r"|record|namespace|package|defmodule|sub|proc|const)[ \t]{1,4}"
    r"(?:\([^()\n]{0,80}\)[ \t]{0,4})?([A-Za-z_$][\w$]{2,60})"
)


def of_text(text: str) -> str:
    """Return the first sentence of the first comment that is no boilerplate, or ""."""
    for block in _comments(text.split("\n", MAX_LINES)[:MAX_LINES]):
        words = " ".join(block.split()).strip("\"'*/=- ")
        if len(words) < MIN_PURPOSE or _BOILERPLATE.search(words):
            continue
        sentence = _SENTENCE.match(words)
        return (sentence[1] if sentence else words)[:MAX_PURPOSE]
    return ""


def of_names(names: Sequence[str]) -> str:
    """Return the first names that a file declares, in place of a description."""
    return ", ".join(names[:NAMED])[:MAX_PURPOSE]


def find_declarations(text: str) -> list[str]:
    return list(dict.fromkeys(_DECLARATION.findall(text)))[:MAX_NAMES]


def _comments(lines: Sequence[str]) -> Iterator[str]:
    """Yield the comments at the top of a file, up to the first line of code."""
    block: list[str] = []
    is_open = False
    for whole in lines:
        line = whole[:MAX_LINE].strip()
        mark = _COMMENT.match(line)
        is_comment = is_open or (mark is not None and not line.startswith("#!"))
        if is_comment:
            text = line[mark.end() :] if mark else line
            block.append(_CLOSING.sub("", text))
            is_open = _stays_open(line, is_open=is_open)
            continue
        if block:
            yield "\n".join(block)
            block = []
        if line and not _PREAMBLE.match(line):
            return
    if block:
        yield "\n".join(block)


def _stays_open(line: str, *, is_open: bool) -> bool:
    """Return whether a comment of several lines goes on after the line."""
    if is_open:
        return not _CLOSING.search(line)
    opening = _OPENING.match(line)
    return bool(opening) and not _CLOSING.search(line, opening.end() if opening else 0)
