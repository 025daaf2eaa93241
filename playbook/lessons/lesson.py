"""The one shape of a lesson, of the evidence for it, and of what it changes."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any, Self


class Kind(StrEnum):
    """What a lesson is."""

    FIX = "fix"  # a call that failed, and the call that cured it
    CHECK = "check"  # a command that finds what others miss
    INSTRUCTION = "instruction"  # how a person wants work to be done
    PREFERENCE = "preference"  # what a person likes better
    DECISION = "decision"  # what was decided, and why
    FACT = "fact"  # what is so in this project
    PROCEDURE = "procedure"  # the steps of something
    ANSWER = "answer"  # the right value for a kind of question


class Producer(StrEnum):
    """Who wrote a lesson."""

    RULE = "rule"
    MODEL = "model"
    AGENT = "agent"
    PERSON = "human"


class Speaker(StrEnum):
    """Who said the words of a source. Trust rests on it (`playbook.lessons.policy`)."""

    PERSON = "person"  # a prompt, a refused call, a curator's feedback
    CALL = "call"  # a call, and what its program printed
    TEST = "test"  # a test or the environment, told by an attesting key
    AGENT = "agent"  # the agent's own words
    FOREIGN = "foreign"  # a page, a file of others, a letter: anybody's words


@dataclass(frozen=True)
class SourceText:
    """A text that lessons may quote: a field of a run, a message or a commit.

    `id` is that of the run or message, or the commit's hash.
    """

    source: str  # run, message or commit
    id: str
    field: str
    text: str
    speaker: Speaker
    # Of a call: whether it failed, as far as it shows.
    has_failed: bool | None = None


@dataclass(frozen=True)
class Quote:
    """Words of a source text, letter by letter, from `start` to `end`.

    Where only the words are known, `end` is 0 and the intake finds the place.
    """

    quote: str
    field: str = ""
    start: int = 0
    end: int = 0
    source: str = "run"
    id: str = ""
    # Set by the intake, from the source text.
    speaker: str = ""
    has_failed: bool | None = None


@dataclass(frozen=True)
class Lesson:
    """A rule that somebody teaches: one sentence of at most 40 words, and its quotes.

    `applies_to` is `always`, `tool:NAME`, `path:GLOB`, `language:NAME` or a topic in words.
    `expires_when` says in words until when it holds, as in "PR 214 merged". `failure` is the
    digest of the error that a fix cures: equal errors differ only in their values.
    """

    content: str
    kind: str
    quotes: tuple[Quote, ...] = ()
    tags: tuple[str, ...] = ()
    priority: int = 0
    applies_to: tuple[str, ...] = ()
    category: str = ""
    producer: str = Producer.RULE
    producer_name: str = ""
    producer_version: str = ""
    confidence: float = 0.0
    expires_when: str = ""
    failure: str = ""

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        quotes = tuple(Quote(**quote) for quote in data["quotes"])
        lists = {name: tuple(data[name]) for name in ("tags", "applies_to")}
        return cls(**{**data, **lists, "quotes": quotes})


class Operation(StrEnum):
    """What a lesson does to the playbook. Each is a proposal, but for `confirm`.

    `confirm` counts a helpful vote for a rule, `contradict` makes the rule contested, and
    `candidate` is counted until a third session says it.
    """

    ADD = "add"
    UPDATE = "update"
    CONFIRM = "confirm"
    CONTRADICT = "contradict"
    CANDIDATE = "candidate"


@dataclass(frozen=True)
class TaughtLesson:
    """A lesson, and what it does to which rule.

    `label` and `version` are those of the rule that an update, confirm or contradict means,
    as the producer read it. A `warning` says why a person must see it, whoever teaches it: its
    words come from a foreign text, or it leads to another package, remote or host.
    """

    lesson: Lesson
    operation: str = Operation.ADD
    label: str = ""
    version: int | None = None
    reason: str = ""
    warning: str = ""


@dataclass(frozen=True)
class Occasion:
    """Where lessons were taught: one run, or one part of a session.

    `id` is that of the run or of the reflection; a lesson is taken once for each. `session`
    is the key of the session.
    """

    id: uuid.UUID
    sources: Sequence[SourceText] = ()
    run_id: uuid.UUID | None = None
    memory_id: uuid.UUID | None = None
    session: str = ""
    agent_id: str = ""
    feedback_source: str = "agent"
    outcome: str = "unknown"
