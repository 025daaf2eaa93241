"""Sessions of a coding agent as they lie on a disk."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from conversations.formats.message import ChatMessage
from conversations.transcripts.open_file import read_lines
from conversations.transcripts.reader import read_messages

FOLDER = Path("sessions") / "claude-code"


def session_files(data: Path) -> list[Path]:
    """Return the transcripts below the data folder, in order of time."""
    return sorted((data / FOLDER).glob("*.jsonl*"))


def load_session(path: Path) -> list[ChatMessage]:
    return list(read_messages("claude-code", read_lines(path)))


def all_messages(data: Path) -> Iterator[ChatMessage]:
    """Yield the messages of all sessions, one after the other, again and again."""
    while True:
        is_empty = True
        for path in session_files(data):
            for message in load_session(path):
                is_empty = False
                yield message
        if is_empty:
            return
