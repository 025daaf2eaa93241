"""Write a memory as one line for a task: what happened, then what was asked.

A line never repeats what another line of the same context says, and it says of itself if a
file changed since, or if another line says otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from common.text.contradiction.disagreement import reason_to_keep_apart
from common.text.contradiction.rule_opposition import find_opposition
from common.text.quote import json_string, json_value
from memories.models import Memory

# In characters.
MAX_LESSON, MAX_DONE, MAX_FEEDBACK, MAX_GOAL = 400, 240, 240, 150
MAX_PATHS = 3  # changed files that a line names
MAX_COMPARED = 600  # characters of a claim that is compared with another one
OUTCOMES = ("success", "partial", "failure")
CHANGING = ("modified", "created", "deleted")
# From this share of its words on, a text says what another one says.
SAME_WORDS = 0.8
# From this share of the shorter text's words on, two texts are about the same thing.
SAME_THING = 0.6
_WORD = re.compile(r"[\w./-]{2,60}")
_MARK = re.compile(r"[\d_./]")
# An option, or a name with a dot, a slash or an underscore.
_FORM = re.compile(r"^--?[A-Za-z]|[A-Za-z][\w-]{0,60}[./_]\w")
_CODE = re.compile(r"`([^`\n]{1,200})`")
# What works and what failed, as in `"--group-by" instead of "--by"`.
_CHANGE = re.compile(
    r"[\"`]([^\"`\n]{1,200})[\"`] instead of [\"`]([^\"`\n]{1,200})[\"`]"
    r"|(?<![^\s\"`])([^\s\"`]{1,100}+) instead of ([^\s\"`]{1,100})"
)


@dataclass
class EarlierTexts:
    """The texts that a context has already."""

    texts: dict[str, frozenset[str]] = field(default_factory=dict)

    def add(self, *texts: str) -> None:
        self.texts |= {text: _words(text) for text in texts if text}

    def has(self, text: str) -> bool:
        """Whether one of the texts says what this one says, and not the opposite of it."""
        words = _words(text)
        return not words or any(
            (_covers(other, words) and not disagree(text, whole))
            or _names_change(text, whole)
            for whole, other in self.texts.items()
        )


@dataclass(frozen=True)
class MemoryLine:
    """The words of a line about a memory; `happened` and `done` are what the task brings.

    `changed` are files that have changed where the reader is.
    """

    memory: Memory
    happened: str
    done: str = ""
    feedback: str = ""
    asked: str = ""
    contradicts: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()

    @property
    def claim(self) -> str:
        """The words that may disagree with another line."""
        return (self.happened or self.done)[:MAX_COMPARED]

    @property
    def text(self) -> str:
        memory = self.memory
        outcome = memory.outcome_word
        ending = f"{outcome}: " if outcome in OUTCOMES else ""
        return (
            f"- [{memory.kind}] {ending}{'; '.join(self._parts())} "
            f"({', '.join(self._notes())})"
        )

    def _parts(self) -> Iterator[str]:
        memory = self.memory
        if memory.kind == Memory.Kind.FACT:
            yield f"{json_string(memory.key)} = {json_value(memory.value)}"
        if self.happened:
            yield json_string(self.happened, MAX_LESSON)
        if self.done:
            yield f"done: {json_string(self.done, MAX_DONE)}"
        if paths := _changed_paths(memory):
            yield f"in {', '.join(json_string(path) for path in paths)}"
        if self.feedback:
            yield f"feedback: {json_string(self.feedback, MAX_FEEDBACK)}"
        if self.asked:
            yield f"asked: {json_string(self.asked, MAX_GOAL)}"

    def _notes(self) -> Iterator[str]:
        """Yield the marks of doubt, the day and the id."""
        changed = sorted({*_suspect_paths(self.memory), *self.changed})
        if changed:
            more = f" and {len(changed) - 1} more" if changed[1:] else ""
            yield f"unconfirmed since {json_string(changed[0])}{more} changed"
        if self.contradicts:
            yield f"contradicts {' and '.join(self.contradicts)}"
        moment = self.memory.occurred_at or self.memory.created_at
        yield f"{moment:%Y-%m-%d}"
        yield str(self.memory.pk)


def build(memories: Iterable[Memory], rules: Iterable[str]) -> list[MemoryLine]:
    """Return the lines of the memories that say something which nothing before them says.

    `rules` are the texts of the rules that stand in the same context.
    """
    earlier = EarlierTexts()
    earlier.add(*rules)
    lines = []
    for memory in memories:
        if line := _describe(memory, earlier):
            earlier.add(line.happened, line.done, line.feedback)
            lines.append(line)
    return lines


def mark_contradictions(lines: Sequence[MemoryLine]) -> list[MemoryLine]:
    """Say on each of two lines that disagree that the other one says otherwise."""
    against: dict[int, list[str]] = {}
    for at, line in enumerate(lines):
        for other_at, other in enumerate(lines[:at]):
            if disagree(line.claim, other.claim):
                against.setdefault(at, []).append(str(other.memory.pk))
                against.setdefault(other_at, []).append(str(line.memory.pk))
    return [
        replace(line, contradicts=tuple(against.get(at, ())))
        for at, line in enumerate(lines)
    ]


def _describe(memory: Memory, earlier: EarlierTexts) -> MemoryLine | None:
    """Return what is new of a memory, or None if nothing is."""
    happened = " ".join(part for part in _events(memory) if not earlier.has(part))
    done = memory.result.strip()
    if earlier.has(done) or (happened and _is_part(done, happened)):
        done = ""
    is_fact = memory.kind == Memory.Kind.FACT
    if not (happened or done or is_fact):
        return None
    feedback = memory.feedback.strip()
    asked = memory.goal.strip() or memory.title.strip()
    return MemoryLine(
        memory,
        happened,
        done,
        "" if earlier.has(feedback) or _is_part(feedback, happened) else feedback,
        "" if _is_part(asked, happened) else asked,
    )


def _events(memory: Memory) -> Iterator[str]:
    """Yield the lessons of a task or else its error; of another memory, its content."""
    if memory.lessons:
        yield from filter(None, map(str.strip, memory.lessons.splitlines()))
    elif memory.kind == Memory.Kind.EPISODE or memory.result:
        failed = [step for step in memory.steps if " failed: " in step]
        yield from failed[-1:]
    elif memory.kind != Memory.Kind.FACT or memory.content:
        yield memory.content.strip()


def _is_part(text: str, whole: str) -> bool:
    words = _words(text)
    return bool(words) and _covers(_words(whole), words)


def _covers(whole: frozenset[str], part: frozenset[str]) -> bool:
    """Whether a text has nearly all words of another one, and all its numbers and names."""
    missing = part - whole
    has_all = not any(_MARK.search(word) for word in missing)
    return has_all and len(missing) <= (1 - SAME_WORDS) * len(part)


def _names_change(text: str, whole: str) -> bool:
    """Whether a text says of the same program that the same words work and fail.

    A text that names something else, such as another program or option, says more.
    """
    change = _read_change(whole)
    if not change or _read_change(text) == change[::-1]:
        return False
    worked, failed = change
    forms = _forms(text)
    is_same = _forms(f"`{worked}` `{failed}`") <= forms <= set(_split(whole))
    advice = f"use `{worked}` instead of `{failed}`"
    return is_same and not find_opposition(text[:MAX_COMPARED], advice)


def _read_change(text: str) -> tuple[str, ...]:
    """Return the words that work and those that failed; empty if a text names none."""
    match = _CHANGE.search(text[:MAX_COMPARED])
    return tuple(filter(None, match.groups())) if match else ()


def _forms(text: str) -> set[str]:
    """Return the options, names and paths of a text, and the first word of each code."""
    programs = [code for match in _CODE.findall(text) for code in _split(match)[:1]]
    return {*filter(_FORM.search, _split(text)), *programs}


def _split(text: str) -> list[str]:
    words = (word.strip("\"'`.,;:()[]").removeprefix("/") for word in text.split())
    return [word.lower() for word in words if word]


def disagree(one: str, other: str) -> bool:
    """Whether two short texts disagree: as rules, or as facts about the same thing."""
    sides = one[:MAX_COMPARED], other[:MAX_COMPARED]
    if find_opposition(*sides):
        return True
    words, others = _words(sides[0]), _words(sides[1])
    common, least = len(words & others), min(len(words), len(others))
    is_same_thing = common >= SAME_THING * max(least, 1)
    return is_same_thing and reason_to_keep_apart(*sides) is not None


def _words(text: str) -> frozenset[str]:
    return frozenset(word.strip(".").lower() for word in _WORD.findall(text))


def _changed_paths(memory: Memory) -> list[str]:
    links = memory.file_links.all()
    paths = [each.file.file_path for each in links if each.relation_type in CHANGING]
    return paths[:MAX_PATHS]


def _suspect_paths(memory: Memory) -> set[str]:
    links = memory.file_links.all()
    return {each.file.file_path for each in links if each.suspect_since}
