"""Find the phrases of a rule that would harm whoever follows it.

A phrase is dangerous advice, or it instructs the model that reads it. The gates, the
guard of live entries and the review page use the same phrases.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from common.text import danger
from common.text.prompt_injection import Injection, find_injections

CACHED_TEXTS = 128  # texts of rules, which are short
MAX_NAMED = 3  # phrases that a message names
MAX_PHRASE = 80  # characters of a phrase in a message
# Kinds of injections that an ordinary log does not contain.
COMMAND_INJECTIONS = {
    "it cancels other instructions",
    "it gives the reader another role",
    "it asks for what the reader must not give",
    "it hides from the user",
}


# A text that only names a place gives no order.
NAMES_A_PLACE = frozenset({"foreign_url", "home_path"})


@dataclass(frozen=True)
class UnsafePhrase:
    """A phrase from `start` to `end` of a text, the gate that it fails, and why."""

    gate: Literal["danger", "instruction"]
    kind: str
    start: int
    end: int
    words: str
    message: str


def join_columns(
    content: str, condition: str = "", action: str = "", tags: Sequence[str] = ()
) -> str:
    """Return the text of an entry as the checks read it: one column a line."""
    return "\n".join(filter(None, (content, condition, action, *tags)))


def find_phrases(
    text: str, own_hosts: frozenset[str] = frozenset()
) -> tuple[UnsafePhrase, ...]:
    """Return the unsafe phrases of a text in the order of their positions."""
    found = [*find_dangers(text, own_hosts), *_instructions(text)]
    return tuple(sorted(found, key=lambda phrase: (phrase.start, phrase.end)))


def describe(phrases: Sequence[UnsafePhrase]) -> str:
    """Return a sentence for each of the first phrases, with the words of the phrase."""
    parts = [
        f"{phrase.message.rstrip('.')}: “{_shorten(phrase.words)}”."
        for phrase in phrases[:MAX_NAMED]
    ]
    more = len(phrases) - MAX_NAMED
    return " ".join([*parts, *([f"There are {more} more."] if more > 0 else [])])


# The gates read the text of a rule, and the guard reads it again when the rule becomes live.
@lru_cache(maxsize=CACHED_TEXTS)
def find_dangers(
    text: str, own_hosts: frozenset[str] = frozenset()
) -> tuple[UnsafePhrase, ...]:
    """Return the phrases of a text that are dangerous advice."""
    return tuple(
        UnsafePhrase(
            "danger",
            found.kind,
            found.start,
            found.end,
            text[found.start : found.end],
            found.message,
        )
        for found in danger.find_dangers(text, own_hosts=own_hosts)
    )


@lru_cache(maxsize=CACHED_TEXTS)
def find_instructions(text: str) -> tuple[Injection, ...]:
    """Return the phrases of a text that instruct the model that reads it."""
    return find_injections(text)


def find_commands(text: str) -> list[str]:
    """Return what a text asks of its reader that an ordinary log does not ask."""
    found = (each.name for each in find_injections(text))
    return [name for name in found if name in COMMAND_INJECTIONS]


def is_unsafe(text: str) -> bool:
    """Whether a text gives orders to an agent, or tells to do what harms."""
    return bool(find_commands(text)) or any(
        each.kind not in NAMES_A_PLACE for each in find_dangers(text)
    )


def _instructions(text: str) -> list[UnsafePhrase]:
    return [
        UnsafePhrase(
            "instruction",
            "instruction",
            found.start,
            found.end,
            text[found.start : found.end],
            f"It reads like an attack on the reader: {found.name}",
        )
        for found in find_instructions(text)
    ]


def _shorten(words: str) -> str:
    plain = " ".join(words.split())
    return plain if len(plain) <= MAX_PHRASE else f"{plain[: MAX_PHRASE - 1]}…"
