"""Send the new part of a transcript: from the byte that the server knows, whole lines only."""

from __future__ import annotations

import gzip
import hashlib
import json
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

from agent_memory import exchange, file_lock
from agent_memory.connections import Connection, write_private

PART_LINES = 4_000  # the server takes 5,000
PART_BYTES = 8 * 1024 * 1024  # the server takes 64 MiB; smaller parts keep memory flat
TIMEOUT = 60.0  # seconds for a part
CONFLICT = 409


class TranscriptFile(NamedTuple):
    """A session's file on this disk, in a format that the server reads."""

    path: Path
    session: str
    format: str

    def state_file(self, connection: Connection) -> Path:
        """Where it is kept how far a project of a server has this file."""
        parts = [connection.server, connection.project_id, str(self.path)]
        name = hashlib.sha256("\n".join(parts).encode()).hexdigest()[:32]
        return connection.state_folder / f"{name}.json"

    @property
    def has_lines(self) -> bool:
        """Whether the file grows by lines; another is rewritten as a whole."""
        return self.path.suffix == ".jsonl"


class Position(NamedTuple):
    """How far the server has read, and the SHA-256 of what it has read."""

    cursor: int = 0
    prefix: str = ""


class Sum(NamedTuple):
    """The counts of what the server stored of a transcript."""

    messages: int = 0
    tasks: int = 0


def send_new_part(
    connection: Connection, transcript: TranscriptFile, *, is_final: bool = False
) -> Sum:
    """Send what the server does not have yet; a second call at once sends nothing.

    `is_final` says that the agent has finished its last task, which is then learned from.
    Raises `exchange.ExchangeError` if the server refuses or does not answer; what was
    sent before stays.
    """
    stored = Sum()
    state = transcript.state_file(connection)
    state.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with file_lock.hold(state.with_suffix(".lock")):
        position = _check_prefix(transcript, _read_position(state))
        has_started_over = False
        while part := _read_part(transcript, position):
            end = Position(position.cursor + len(part))
            is_last = is_final and not _read_part(transcript, end)
            answer = _send_part(connection, transcript, position, part, is_last=is_last)
            is_elsewhere = answer.status == CONFLICT and _is_of_cursor(answer)
            if is_elsewhere and not has_started_over:
                has_started_over, position = True, Position()
                continue
            data = exchange.require_success(answer).data
            has_advanced = data["cursor"] > position.cursor
            position = Position(data["cursor"], data["prefix"])
            stored = Sum(
                stored.messages + data["messages"], stored.tasks + data["tasks"]
            )
            _write_position(state, position)
            # What is left is not whole yet, unless the server stored a share of the part.
            if not has_advanced and not data["messages"]:
                break
    return stored


def _is_of_cursor(answer: exchange.WireAnswer) -> bool:
    """Whether a conflict says that the server has read the file to another place."""
    data = answer.data
    return isinstance(data, dict) and data.get("code") == "transcript_cursor"


def _send_part(
    connection: Connection,
    transcript: TranscriptFile,
    position: Position,
    part: bytes,
    *,
    is_last: bool,
) -> exchange.WireAnswer:
    query = {
        "project_id": connection.project_id,
        "format": transcript.format,
        "cursor": str(position.cursor),
        "end_prefix": _digest(transcript, position.cursor + len(part)),
    }
    if position.cursor:
        query["prefix"] = position.prefix
    if is_last:
        query["final"] = "true"
    return exchange.send(
        connection,
        "POST",
        f"/api/v1/sessions/{quote(transcript.session, safe='')}/transcript",
        query=query,
        body=gzip.compress(part, 5),
        headers={"Content-Type": "application/gzip"},
        timeout=TIMEOUT,
    )


def _read_part(transcript: TranscriptFile, position: Position) -> bytes:
    """Read the next whole lines, at most a part; a longer line is a part of its own."""
    with transcript.path.open("rb") as stream:
        stream.seek(position.cursor)
        if not transcript.has_lines:
            return stream.read()
        part = stream.read(PART_BYTES)
        while part and b"\n" not in part and (more := stream.read(PART_BYTES)):
            part += more
    lines = part[: part.rfind(b"\n") + 1].split(b"\n", PART_LINES)
    return b"".join(
        line + b"\n" for line in lines[:PART_LINES] if lines[-1] is not line
    )


def _check_prefix(transcript: TranscriptFile, position: Position) -> Position:
    """Start over if the file no longer begins with what was sent."""
    is_same = position.prefix == _digest(transcript, position.cursor)
    return position if is_same else Position()


def _digest(transcript: TranscriptFile, size: int) -> str:
    """Return the SHA-256 of the first `size` bytes of the file; "" if it is shorter."""
    digest, left = hashlib.sha256(), size
    with transcript.path.open("rb") as stream:
        while left and (block := stream.read(min(left, 1024 * 1024))):
            digest.update(block)
            left -= len(block)
    return "" if left else digest.hexdigest()


def _read_position(state: Path) -> Position:
    try:
        data: dict[str, Any] = json.loads(state.read_text())
        return Position(int(data["cursor"]), str(data["prefix"]))
    except (OSError, ValueError, KeyError):
        return Position()


def _write_position(state: Path, position: Position) -> None:
    data = {"cursor": position.cursor, "prefix": position.prefix}
    write_private(state, json.dumps(data))
