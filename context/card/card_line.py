"""A line of the card."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, field
from typing import Literal

from ace.repairs.trust import CureLessons
from common.text.quote import json_string

Section = Literal["failure", "command", "work"]
MAX_WORDS = 240  # characters of a command, a path or code; a check has at most 200


@dataclass(frozen=True)
class CardLine:
    """A line with its evidence: in how many sessions it was seen, and when last.

    `subject` is what the line is about, such as a command; the text quotes it. `lessons` say
    the same, or are about it.
    """

    section: Section
    text: str
    subject: str
    sessions: int
    last_on: dt.date | None = None
    lessons: CureLessons = field(default_factory=CureLessons)


def quote(words: str) -> str:
    return json_string(words, MAX_WORDS)


def count(sessions: int, last_on: dt.date | None) -> str:
    """Return the evidence in brackets, as in `(4 sessions, last 2026-02-01)`."""
    noun = "session" if sessions == 1 else "sessions"
    last = f", last {last_on:%Y-%m-%d}" if last_on else ""
    return f"({sessions} {noun}{last})"
