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
MAX_COMPARED = 600  # characters of a text that is compared with a repair
# An option, or a name with a dot, a slash or an underscore.
_FORM = re.compile(r"^--?[A-Za-z]|[A-Za-z][\w-]{0,60}[./_]\w")
_CODE = re.compile(r"`([^`\n]{1,200})`")
# What works and what failed, as in `"--group-by" instead of "--by"`.
_CHANGE = re.compile(
    r"[\"`]([^\"`\n]{1,200})[\"`] instead of [\"`]([^\"`\n]{1,200})[\"`]"
    r"|(?<![^\s\"`])([^\s\"`]{1,100}+) instead of ([^\s\"`]{1,100})"
)
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n")


@dataclass
class EarlierTexts:
    """The texts that a context has already, each with its words in one string."""

    texts: dict[str, str] = field(default_factory=dict)

    def add(self, *texts: str) -> None:
        self.texts |= {text: same_text.join_words(text) for text in texts if text}

    def has(self, text: str) -> bool:
        """Whether each sentence of the text stands in one of the texts, word for word.

        A text that names the working and the failing words of a repair is said as well.
        """
        if any(_names_change(text, whole) for whole in self.texts):
            return True
        said = [s for s in _SENTENCE_END.split(text) if len(s.split()) >= MIN_WORDS]
        words = map(same_text.join_words, said or [text])
        return all(
            any(sentence in whole for whole in self.texts.values())
            for sentence in words
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
    return is_same


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


def _changed_paths(memory: Memory) -> list[str]:
    links = memory.file_links.all()
    paths = [each.file.file_path for each in links if each.relation_type in CHANGING]
    return paths[:MAX_PATHS]


def _suspect_paths(memory: Memory) -> set[str]:
    links = memory.file_links.all()
    return {each.file.file_path for each in links if each.suspect_since}
