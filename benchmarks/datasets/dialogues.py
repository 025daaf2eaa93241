"""Dialogues with dated sessions, and questions with the turns that answer them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import groupby
from pathlib import Path
from typing import Any

from benchmarks.datasets.corpora import conversation_folders
from conversations.formats.message import ChatMessage

DATE = "%I:%M %p on %d %B, %Y"  # as in `1:56 pm on 8 May, 2023`


@dataclass(frozen=True)
class DialogueSession:
    """One session of a dialogue: its turns by id, in order, as messages."""

    dialogue: str
    key: str
    turn_ids: list[str]
    messages: list[ChatMessage]


@dataclass(frozen=True)
class DialogueQuestion:
    dialogue: str
    text: str
    evidence: frozenset[str]


@dataclass(frozen=True)
class DialogueSet:
    """The sessions and the questions of one folder."""

    name: str
    sessions: list[DialogueSession]
    questions: list[DialogueQuestion]


def load_dialogues(data: Path) -> list[DialogueSet]:
    """Load the folders `DIR/conversations/*` that have turns and questions, or DIR itself."""
    folders = conversation_folders(data)
    if (data / "turns.jsonl").exists():
        folders = [data]
    return [_load(folder) for folder in folders]


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.strip():
            yield json.loads(line)


def _load(folder: Path) -> DialogueSet:
    turns = list(_rows(folder / "turns.jsonl"))
    known = {turn["id"] for turn in turns}
    questions = [
        DialogueQuestion(
            row["conv"], row["question"], frozenset(row["evidence"]) & known
        )
        for row in _rows(folder / "questions.jsonl")
    ]
    groups = groupby(
        turns, key=lambda turn: (turn["conv"], str(turn.get("session", "")))
    )
    sessions = [_session(*name, list(group)) for name, group in groups]
    return DialogueSet(folder.name, sessions, [q for q in questions if q.evidence])


def _session(
    dialogue: str, number: str, turns: list[dict[str, Any]]
) -> DialogueSession:
    first = turns[0]["speaker"]
    start = _moment(turns[0].get("date", ""))
    messages = [
        ChatMessage(
            role="user" if turn["speaker"] == first else "assistant",
            parts=({"type": "text", "text": f"{turn['speaker']}: {turn['text']}"},),
            external_id=turn["id"],
            created_at=start + timedelta(minutes=minute) if start else None,
        )
        for minute, turn in enumerate(turns)
    ]
    key = f"{dialogue}/{number}"
    return DialogueSession(dialogue, key, [turn["id"] for turn in turns], messages)


def _moment(text: str) -> datetime | None:
    try:
        return datetime.strptime(text, DATE).replace(tzinfo=UTC)
    except ValueError:
        return None
