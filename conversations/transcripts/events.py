"""What a transcript is read into."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

from conversations.formats.harness import METADATA_KEYS

# The key of a message's metadata under which a transcript keeps what its line says beside the
# words: {format, cwd, branch, model, meta, sidechain, compaction, interrupted, …}.
KEY, OLD_KEY = METADATA_KEYS
# The marks of lines that are the harness's, a subagent's, or a compaction's.
OUTSIDE_MARKS = ("meta", "sidechain", "compaction")
QUEUED = "queued:"  # begins the id of what a person typed into the queue of Claude Code


def recorded_fields(metadata: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what a transcript's line said beside the words; {} for another message."""
    found = metadata.get(KEY) or metadata.get(OLD_KEY)
    return found if isinstance(found, Mapping) else {}


class LineWithoutMessage(Exception):
    """A line has no message; the text is the reason, which is counted."""


class UnknownLine(Exception):
    """The parser does not know a line; the text is its type. It is counted."""


@dataclass(frozen=True)
class TranscriptTask:
    """What an agent did for one prompt of a person, with at least one tool call.

    `tool_usage` has {tool, arguments, result, is_error, cwd} in order; the result is None if
    the call was not answered. `feedback` are the words with which the person rejected calls.
    The outcome is "unknown" if the person interrupted the agent, and empty otherwise.
    `references` are commits, as in `commit:1a2b3c4`.
    """

    goal: str
    result: str
    tool_usage: list[dict[str, Any]]
    feedback: str
    outcome: str
    started_at: datetime | None
    ended_at: datetime | None
    cwd: str
    branch: str
    references: list[str]
    message_ids: list[str]


class QueuedWords(NamedTuple):
    """A line that put something into the queue, and what a person typed of it."""

    line: Mapping[str, Any]
    words: str


@dataclass
class TranscriptContext:
    """What earlier lines said that holds for the later ones."""

    session_id: str = ""
    cwd: str = ""
    branch: str = ""
    model: str = ""
    message_id: str = ""  # of the message before
    # Of Claude Code: what a person typed and the agent has not been given; words that one
    # kind of line has told and the other may tell again; the ids of what earlier parts stored
    # of the queue, and {id: digest of the words} of what of it still waited at their end; what
    # left the queue to be the next prompt, without a line if it is of an earlier part.
    queue: list[QueuedWords] = field(default_factory=list)
    told: Counter[str] = field(default_factory=Counter)
    stored: frozenset[str] = frozenset()
    waiting: dict[str, str] = field(default_factory=dict)
    dequeued: QueuedWords | None = None

    def fields(self) -> dict[str, str]:
        """Return what a message's metadata keep of the context."""
        named = {"cwd": self.cwd, "branch": self.branch, "model": self.model}
        return {name: value for name, value in named.items() if value}


@dataclass
class TranscriptCounts:
    """What was read, and what was left out with its reason; nothing is fatal.

    `unknown` are the lines of types that the parser does not know, by type. `replaced` are
    the texts in which U+FFFD replaces characters that cannot be stored.
    """

    lines: int = 0
    messages: int = 0
    tasks: int = 0
    replaced: int = 0
    left_out: Counter[str] = field(default_factory=Counter)
    unknown: Counter[str] = field(default_factory=Counter)
