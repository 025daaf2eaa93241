"""What a transcript is read into."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from conversations.formats.message import ChatMessage


@dataclass(frozen=True)
class TranscriptMessage:
    """A message, and the session that it belongs to."""

    session_id: str
    message: ChatMessage


@dataclass(frozen=True)
class TranscriptTask:
    """What an agent did for one prompt of a person, with at least one tool call.

    `tool_usage` has {tool, arguments, result, is_error} in order. `feedback` are the words
    with which the person rejected calls. The outcome is "unknown" if the person interrupted
    the agent, and empty otherwise. `references` are commits, as in `commit:1a2b3c4`.
    """

    session_id: str
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


@dataclass
class TranscriptCounts:
    """What was read, and what was left out with its reason; nothing is fatal.

    `replaced` are the texts in which U+FFFD replaces characters that cannot be stored.
    """

    lines: int = 0
    messages: int = 0
    tasks: int = 0
    replaced: int = 0
    left_out: Counter[str] = field(default_factory=Counter)
