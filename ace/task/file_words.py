"""Describe the files that a task used: the words of their code, and what they are for."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from ace.repairs import edits, failed_call
from ace.task.task import Task, ToolCall
from common.text import word_hashes

MAX_WORDS = 60  # distinct words of one file in one task
MAX_GOAL = (
    2_000  # characters of the goal; a longer one has pasted text behind the request
)
# `   12→text` and `12: text`, as tools number the lines that they show.
_NUMBER = re.compile(r"^[ \t]{0,8}(\d{1,6})(?:→|\t|: ?|\| ?)", re.MULTILINE)


@dataclass
class FileWords:
    """The words of a file, how often a task read or changed them, and its purpose."""

    counts: Counter[str] = field(default_factory=Counter)
    purpose: str = ""

    def hashes(self) -> list[int]:
        return hash_words(word for word, _ in self.counts.most_common(MAX_WORDS))


def of_task(task: Task) -> dict[str, FileWords]:
    """Return the files that tools read or changed, by the paths that the task wrote."""
    found: dict[str, FileWords] = {}
    for call in task.calls:
        path = failed_call.path_of(call)
        if not path or call.has_failed:
            continue
        file = found.setdefault(path, FileWords())
        if call.kind == "read":
            _add_read(file, call)
        for edit in edits.read(call):
            file.counts.update(word_hashes.split(edit.new))
            file.counts.update(word_hashes.split(edit.old))
            if not file.purpose:
                of_new = "" if edit.old else of_text(edit.new)
                names = find_declarations(edit.new)
                file.purpose = of_new or of_names(names)
    for file in found.values():
        file.counts.update(word_hashes.split(file.purpose))
    return found


def of_goal(task: Task) -> list[int]:
    """Return the hashes of the words of the goal."""
    return hash_words(word_hashes.split(task.goal[:MAX_GOAL]))


def hash_words(words: Iterable[str]) -> list[int]:
    """Return the hashes of the first distinct words, in order."""
    distinct = list(dict.fromkeys(words))
    return [word_hashes.hash_word(word) for word in distinct[:MAX_WORDS]]


def _add_read(file: FileWords, call: ToolCall) -> None:
    shown = call.result[: word_hashes.MAX_TEXT]
    text = _NUMBER.sub("", shown)
    names = find_declarations(text)
    for name in names:
        file.counts.update(word_hashes.split(name))
    first = _NUMBER.match(shown)
    is_top = first is None or first[1] == "1"
    described = of_text(text) if is_top else ""
    file.purpose = described or file.purpose or of_names(names)


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
