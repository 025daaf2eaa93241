"""`am backfill`: send the sessions that the harnesses have left on this disk."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from agent_memory import connections, transcript
from agent_memory.connections import Connection
from agent_memory.harnesses import HARNESSES, CodingAgent
from agent_memory.places import Machine
from agent_memory.transcript import TranscriptFile

MAX_BYTES = 64 * 1024 * 1024  # the server takes no more of a session
HEAD_LINES = 40  # a session names its folder within its first lines
UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
# What looks like a secret, as the server masks it when it stores a text; it knows more kinds.
SECRET = re.compile(
    rb"sk-[A-Za-z0-9_\-]{20,100}|gh[pousr]_[A-Za-z0-9]{30,100}|AKIA[0-9A-Z]{16}"
    rb"|xox[abpr]-[A-Za-z0-9\-]{10,100}|-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----|am_[A-Za-z0-9_\-]{40,60}"
)


@dataclass(frozen=True)
class DiskSession:
    """A session on this disk that belongs to the connected project."""

    transcript: TranscriptFile
    bytes: int
    secrets: int

    @property
    def is_too_large(self) -> bool:
        return self.bytes > MAX_BYTES


def find_sessions(
    connection: Connection,
    machine: Machine,
    harnesses: tuple[CodingAgent, ...] = HARNESSES,
) -> Iterator[DiskSession]:
    """Yield the sessions of the connection's folder, harness by harness, oldest first.

    Those of a folder inside that has a connection of its own belong to that one.
    """
    known = connections.read()
    for harness in harnesses:
        paths = (
            Path(machine.home).glob(harness.transcripts) if harness.transcripts else []
        )
        for path in sorted(paths, key=lambda path: path.stat().st_mtime):
            folder = folder_of(path)
            found = connections.find(folder, known) if folder else None
            if found and found.place == connection.place:
                session = TranscriptFile(path, session_of(path), harness.name)
                yield DiskSession(session, path.stat().st_size, count_secrets(path))


def folder_of(path: Path) -> Path | None:
    """Return the folder that a session was in; None if its first lines do not say it."""
    with path.open(encoding="utf-8", errors="replace") as stream:
        for _, line in zip(range(HEAD_LINES), stream, strict=False):
            try:
                row = json.loads(line)
            except ValueError:
                continue
            if folder := _folder_in(row):
                return Path(folder)
    return None


def _folder_in(row: object) -> str:
    """Find `cwd` in a line: Claude Code has it there, Codex in `payload`, Copilot in `data`."""
    if not isinstance(row, dict):
        return ""
    places = [row, row.get("payload"), row.get("data")]
    places += [place.get("context") for place in places if isinstance(place, dict)]
    return next(
        (str(p["cwd"]) for p in places if isinstance(p, dict) and p.get("cwd")), ""
    )


def session_of(path: Path) -> str:
    """Return the id of a session, which is in the name of its file or of its folder."""
    found = UUID.findall(path.stem) or UUID.findall(path.parent.name)
    return found[-1] if found else path.stem


def count_secrets(path: Path) -> int:
    """Count what looks like a secret; the server masks it before it stores a text."""
    count = 0
    with path.open("rb") as stream:
        for line in stream:
            count += len(SECRET.findall(line))
    return count


def send(connection: Connection, found: DiskSession) -> transcript.Sum:
    """Send a session; what the server has already is not sent again."""
    return transcript.send_new_part(connection, found.transcript, is_final=True)
