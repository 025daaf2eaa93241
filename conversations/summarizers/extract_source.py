"""Read the text that an extractive summary is taken from.

The text is either of messages (`input_text`), or of summaries that were extracted before.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from common.text import literals

MOST_STATEMENT = 400  # characters of one sentence
MOST_COMMAND = 120  # characters of a command that is listed
# The start of a line of messages, and of a line of an extracted summary.
_ROLE = re.compile(r"\[(?P<role>user|assistant|system|tool)(?::(?P<more>[^\]]*))?\] ?")
_SPEAKER = re.compile(
    r"(?P<speaker>user|assistant|system|error"
    r"|Files|Commands|Also named|Expand for details about): "
)
_SENTENCE = re.compile(r"[^\n]+?(?:[.!?](?=\s)|(?=\n)|$)")
_COMMAND = re.compile(r'"(?:command|cmd)"\s*:\s*"((?:[^"\\]|\\.)*)')
_CODE = re.compile(r"^\s*(?:[{}()\[\];#/*+<>|`-]+\s*)?$|^\s*\d+[→:|]|[{};]\s*$")


@dataclass(frozen=True)
class Statement:
    """A sentence, and who said it; `is_last` for the last words of a speaker."""

    speaker: str
    text: str
    literals: frozenset[str]
    is_last: bool = False

    @property
    def line(self) -> str:
        return f"{self.speaker}: {self.text}"

    def shorten(self, limit: int) -> Statement:
        return replace(self, text=self.text[:limit].rstrip())


@dataclass(frozen=True)
class SummarySource:
    """The statements of a text, and how often and how late its literals occur."""

    statements: tuple[Statement, ...]
    files: frozenset[str]
    commands: frozenset[str]
    # Each literal with the positions (0 to 1) at which it occurs.
    positions: dict[str, list[float]]

    @cached_property
    def literal_counts(self) -> Counter[str]:
        return Counter({each: len(at) for each, at in self.positions.items()})

    @cached_property
    def ranked_literals(self) -> list[str]:
        """All literals, the weightiest first: often, late, and files before others."""

        def weight(literal: str) -> tuple[float, str]:
            at = self.positions[literal]
            recent = 0.5 + max(at)
            kind = 1.5 if literal in self.files else 1.0
            if literal.isdecimal():
                kind = 0.5
            return (-(len(at) ** 0.5) * recent * kind, literal)

        return sorted(self.positions, key=weight)


def read_source(text: str, *, is_condensed: bool) -> SummarySource:
    """Read a text of messages, or of summaries if `is_condensed`."""
    statements: list[Statement] = []
    positions: dict[str, list[float]] = {}
    files: set[str] = set()
    commands: set[str] = set()
    lines = list(_lines(text, is_condensed))
    for number, (speaker, line) in enumerate(lines):
        at = (number + 1) / len(lines)
        found = _literals_of(line)
        if speaker in ("Files", "Commands", "Also named", "Expand for details about"):
            found = _items_of(speaker, line)
            if speaker == "Commands":
                commands |= found
        elif speaker == "call":
            ran = _commands_of(line)
            commands |= ran
            found |= ran
        elif speaker != "result":
            statements += _statements_of(speaker, line)
        for literal in found:
            positions.setdefault(literal, []).append(at)
        files |= {each for each in found if _is_file(each)}
    return SummarySource(
        tuple(_mark_last(statements)), frozenset(files), frozenset(commands), positions
    )


def _lines(text: str, is_condensed: bool) -> Iterator[tuple[str, str]]:
    """Yield each line with its speaker; a line without one continues the line before."""
    speaker = "assistant"
    for line in text.splitlines():
        if not line.strip() or line.strip() == "---":
            continue
        if is_condensed and (match := _SPEAKER.match(line)):
            speaker = match["speaker"]
            line = line[match.end() :]
        elif match := _ROLE.match(line):
            speaker = _speaker_of(match, line)
            line = line[match.end() :].removeprefix("error: ")
        yield speaker, line


def _speaker_of(match: re.Match[str], line: str) -> str:
    more = match["more"] or ""
    if more.startswith("call "):
        return "call"
    if match["role"] == "tool":
        is_error = line[match.end() :].startswith("error:")
        return "error" if is_error else "result"
    return str(match["role"])


def _statements_of(speaker: str, line: str) -> Iterator[Statement]:
    if _CODE.search(line):
        return
    for match in _SENTENCE.finditer(line):
        text = match[0].strip()[:MOST_STATEMENT]
        if len(text) > 2:
            yield Statement(speaker, text, frozenset(_literals_of(text)))


def _mark_last(statements: list[Statement]) -> Iterator[Statement]:
    last = {each.speaker: number for number, each in enumerate(statements)}
    for number, each in enumerate(statements):
        yield replace(each, is_last=last[each.speaker] == number)


def _literals_of(text: str) -> set[str]:
    return {each for each in literals.find_literals(text) if 1 < len(each) <= 120}


def _commands_of(line: str) -> set[str]:
    raw = (match[1].split("\\n")[0] for match in _COMMAND.finditer(line))
    return {each.strip() for each in raw if 2 < len(each.strip()) <= MOST_COMMAND}


def _items_of(name: str, line: str) -> set[str]:
    items = {each.strip() for each in line.split(", ")}
    return items - {"none", "the messages", ""}


def _is_file(literal: str) -> bool:
    return bool(literals.find_paths(literal)) and ("/" in literal or "." in literal[1:])
