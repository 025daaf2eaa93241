"""Write a memory as one line for a task: what happened, then what was asked.

A line never repeats what another line of the same context says, and it says of itself if a
file changed since.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from common.text import same_text
from common.text.quote import json_string, json_value
from memories.models import Memory

# In characters.
MAX_LESSON, MAX_DONE, MAX_FEEDBACK, MAX_GOAL = 400, 240, 240, 150
MAX_PATHS = 3  # changed files that a line names
MIN_WORDS = 3  # of a sentence that says something; "Works." does not
OUTCOMES = ("success", "partial", "failure")
CHANGING = ("modified", "created", "deleted")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n")


@dataclass
class EarlierTexts:
    """The texts that a context has already."""

    texts: list[str] = field(default_factory=list)

    def add(self, *texts: str) -> None:
        self.texts += filter(None, texts)

    def has(self, text: str) -> bool:
        """Whether each sentence of the text stands in one of the texts, word for word."""
        said = [s for s in _SENTENCE_END.split(text) if len(s.split()) >= MIN_WORDS]
        return all(
            any(_is_part(sentence, whole) for whole in self.texts)
            for sentence in said or [text]
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
    changed: tuple[str, ...] = ()

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


def _describe(memory: Memory, earlier: EarlierTexts) -> MemoryLine | None:
    """Return what is new of a memory, or None if nothing is."""
    happened = " ".join(part for part in _events(memory) if not earlier.has(part))
    done = memory.result.strip()
    if done and (earlier.has(done) or _is_part(done, happened)):
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
    return same_text.join_words(text) in same_text.join_words(whole)


def _changed_paths(memory: Memory) -> list[str]:
    links = memory.file_links.all()
    paths = [each.file.file_path for each in links if each.relation_type in CHANGING]
    return paths[:MAX_PATHS]


def _suspect_paths(memory: Memory) -> set[str]:
    links = memory.file_links.all()
    return {each.file.file_path for each in links if each.suspect_since}
