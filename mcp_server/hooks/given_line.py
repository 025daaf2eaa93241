"""A line that a hook may give, and the choice of lines within a budget."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from common.text.memory_fence import fence
from inference import tokens
from mcp_server.models import Push

FENCE_TOKENS = tokens.estimate(fence("")) + 1
Subject = tuple[str, str]  # kind and subject


@dataclass(frozen=True)
class GivenLine:
    """A line, what it is about, and the files that it is anchored to.

    `is_accepted` is for rules: whether a person accepted it, and nothing puts it in doubt.
    """

    kind: Push.PushKind
    subject: str
    text: str
    files: tuple[str, ...] = ()
    is_accepted: bool = False

    @property
    def about(self) -> Subject:
        return self.kind, self.subject

    @property
    def size(self) -> int:
        """The bytes of the line, with its end."""
        return len(self.text.encode("utf-8", "surrogatepass")) + 1

    @property
    def tokens(self) -> int:
        return -(-self.size // tokens.BYTES_PER_TOKEN)


def ids_of(lines: Iterable[GivenLine]) -> frozenset[uuid.UUID]:
    """Return the ids that rules or memories are given by."""
    return frozenset(uuid.UUID(line.subject) for line in lines)


@dataclass(frozen=True)
class Section:
    """Lines under a heading, of which at most `tokens` are given.

    One that keeps its room has it, however long the sections before it are.
    """

    heading: str
    lines: Sequence[GivenLine]
    tokens: int
    keeps_room: bool = False

    @property
    def size(self) -> int:
        """The tokens of all its lines, with the heading."""
        size = len(self.heading.encode()) + 1 + sum(line.size for line in self.lines)
        return -(-size // tokens.BYTES_PER_TOKEN) if self.lines else 0


@dataclass(frozen=True)
class ToldLines:
    """What people told, the most important first; of `count`, these lines were read."""

    lines: Sequence[GivenLine]
    count: int
    where: str

    def describe_left_out(self, count: int) -> str:
        verb = "has" if count == 1 else "have"
        return f"- {count:,} more {verb} no room here; {self.where}."


@dataclass(frozen=True)
class GivenSection:
    heading: str
    lines: tuple[GivenLine, ...]


def fit(
    sections: Iterable[Section], total: int, given: Collection[Subject] = ()
) -> list[GivenSection]:
    """Return whole lines, section by section, that have at most `total` tokens together.

    Nothing is said that is `given`, or twice. A line that does not fit is left out; a shorter
    one after it, or the same one in the next section, may still fit.
    """
    said = set(given)
    sections = list(sections)
    kept = sum(section.size for section in sections if section.keeps_room)
    room = total * tokens.BYTES_PER_TOKEN
    chosen: list[GivenSection] = []
    for section in sections:
        kept -= section.size if section.keeps_room else 0
        heading = len(section.heading.encode()) + 1
        free = room - kept * tokens.BYTES_PER_TOKEN
        left = min(section.tokens * tokens.BYTES_PER_TOKEN, free) - heading
        lines = []
        for line in section.lines:
            if line.size <= left and line.about not in said:
                said.add(line.about)
                left -= line.size
                lines.append(line)
        if lines:
            room -= heading + sum(line.size for line in lines)
            chosen.append(GivenSection(section.heading, tuple(lines)))
    return chosen


def lines_in(sections: Iterable[Section], total: int) -> list[GivenLine]:
    """Return the lines of the sections for which there is room."""
    return [line for each in fit(sections, total) for line in each.lines]


def room_beside(sections: Iterable[Section], total: int) -> int:
    """Return the tokens that these sections leave of the total."""
    chosen = fit(sections, total)
    used = sum(Section(s.heading, s.lines, total).size for s in chosen)
    return total - used
