"""The record that a language model reads: what happened in a session or in one task.

It is written by pure code and has the same bytes for the same rows (docs/ace.md, "The
record"). A long session is read in parts, each of at most so many tokens.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ace.lessons.record_line import RecordLine
from inference import tokens
from playbook.lessons.lesson import SourceText

# Marks of lines at which a part may begin.
_BEGINNINGS = frozenset({"PERSON", "PLAN", "GOAL"})
# Dropped in this order where one exchange alone is longer than a part.
_LEAST_USEFUL = ("CALL", "AGENT", "RUN", "EDIT")
_PULL_REQUEST = re.compile(r"\bgh pr \w{2,12} (\d{1,6})\b|/pull/(\d{1,6})\b")
_COMMIT = re.compile(r"\bgit commit\b")
_PUSH = re.compile(r"\bgit push\b")
_HEADER_TOKENS = 200


@dataclass(frozen=True)
class RecordHeader:
    """What is known of a session or a run beside its lines; `person` is an opaque name."""

    person: str = ""
    agent: str = ""
    folder: str = ""
    branches: tuple[str, ...] = ()
    began: str = ""
    ended: str = ""


@dataclass(frozen=True)
class RecordPart:
    """A part of a record: its text, and the texts that its lines show."""

    text: str
    sources: tuple[SourceText, ...]
    number: int = 1
    of: int = 1


def write_parts(
    header: RecordHeader, lines: Sequence[RecordLine], max_tokens: int
) -> list[RecordPart]:
    """Return the record in parts of at most `max_tokens`; no part if there are no lines."""
    pieces = list(_split(lines, max_tokens - _HEADER_TOKENS))
    top = _write_header(header, lines)
    parts, number = [], 1
    for index, piece in enumerate(pieces):
        texts = [line.write(number + n) for n, line in enumerate(piece)]
        number += len(piece)
        sources = tuple(source for line in piece for source in line.sources)
        head = f"{top}\nPart: {index + 1} of {len(pieces)}" if len(pieces) > 1 else top
        text = "\n".join([head, "", *texts])
        parts.append(RecordPart(text, sources, index + 1, len(pieces)))
    return parts


def _split(lines: Sequence[RecordLine], room: int) -> Iterator[list[RecordLine]]:
    """Split the lines into pieces that fit, where a person speaks if possible."""
    piece: list[RecordLine] = []
    size = 0
    for exchange in _exchanges(lines):
        fitting = _fit(exchange, room)
        needed = _size(fitting)
        if piece and size + needed > room:
            yield piece
            piece, size = [], 0
        piece += fitting
        size += needed
    if piece:
        yield piece


def _exchanges(lines: Sequence[RecordLine]) -> Iterator[list[RecordLine]]:
    """Yield the lines from one word of a person to the next."""
    exchange: list[RecordLine] = []
    for line in lines:
        if line.mark in _BEGINNINGS and exchange:
            yield exchange
            exchange = []
        exchange.append(line)
    if exchange:
        yield exchange


def _fit(exchange: list[RecordLine], room: int) -> list[RecordLine]:
    """Drop the least useful lines of an exchange until it fits, the oldest ones first."""
    size = _size(exchange)
    dropped: set[int] = set()
    for mark in _LEAST_USEFUL:
        for index, line in enumerate(exchange):
            if size <= room:
                break
            if line.mark == mark and line.head != "closes":
                dropped.add(index)
                size -= _size([line])
    kept = [line for index, line in enumerate(exchange) if index not in dropped]
    while size > room and len(kept) > 1:
        size -= _size([kept.pop(len(kept) // 2)])
    return kept


def _size(lines: Sequence[RecordLine]) -> int:
    return sum(tokens.estimate(line.write(9_999)) + 1 for line in lines)


def _write_header(header: RecordHeader, lines: Sequence[RecordLine]) -> str:
    named = {
        "Person": header.person,
        "Agent": header.agent,
        "Repository": header.folder.rstrip("/").rpartition("/")[2],
        "Branch": ", ".join(header.branches[:5]),
        "Pull request": ", ".join(_pull_requests(lines)),
        "Time": " to ".join(filter(None, (header.began, header.ended))),
        "Ended": _describe_end(lines),
    }
    return "\n".join(f"{name}: {value}" for name, value in named.items() if value)


def _pull_requests(lines: Sequence[RecordLine]) -> list[str]:
    found = Counter(
        match[1] or match[2]
        for line in lines
        if line.mark in ("RUN", "FAILED")
        for match in _PULL_REQUEST.finditer(f"{line.head}\n{line.words}")
    )
    return [f"#{number}" for number, _ in found.most_common(3)]


def _describe_end(lines: Sequence[RecordLine]) -> str:
    """Say what is seen of the end: commits, a push, and the last test report."""
    ran = [line.head for line in lines if line.mark == "RUN"]
    commits = sum(bool(_COMMIT.search(head)) for head in ran)
    tests = [head.rpartition("→ ")[2] for head in ran if " passed, " in head]
    told = [
        f"{commits} commits" if commits else "nothing committed",
        "pushed" if any(_PUSH.search(head) for head in ran) else "",
        f"last tests: {tests[-1]}" if tests else "",
    ]
    return ", ".join(filter(None, told))
