"""Read the messages of a transcript of any format.

Each line with words becomes a message, also those that teach nothing (meta, sidechain,
compaction, echoes of commands): a session is stored without loss. Lines that have no words,
such as the times of a turn, are only counted. A line of a type that the format's parser does
not know is kept as a message without words, and counted.
"""

from __future__ import annotations

import hashlib
import heapq
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from django.conf import settings

from common.text import storable_json
from conversations.formats.convert import name_results
from conversations.formats.message import ChatMessage, MalformedMessage, Part
from conversations.transcripts import claude_code, codex, copilot, gemini, opencode
from conversations.transcripts.events import (
    KEY,
    LineWithoutMessage,
    TranscriptContext,
    TranscriptCounts,
    UnknownLine,
)
from conversations.transcripts.line_source import MAX_OBJECTS, has_too_many

# Lines are put in the order of their times as far as this many lines allow, because the file
# is read as a stream.
WINDOW = 32
MAX_HELD = 8 * 1024 * 1024  # bytes of the lines that wait to be put in order
MAX_UNKNOWN = 32 * 1024  # bytes of a line of an unknown type that is kept
MAX_ID = 255  # characters of an external id
MAX_FIELD = 4_096  # characters of a folder, a branch or another text beside the words
MAX_REASON = 100  # characters of a reason that is counted
Line = Mapping[str, Any]


@dataclass(frozen=True)
class TranscriptFormat:
    """The parser of one format.

    `read_line` returns the messages of a line; an external id that it leaves out is made of
    the line. It raises LineWithoutMessage, UnknownLine and MalformedMessage. `split` divides
    a value that holds several lines, such as a whole document.
    """

    read_line: Callable[[Line, TranscriptContext], Iterable[ChatMessage]]
    split: Callable[[Line], Iterator[Line]] | None = None


FORMATS = {
    "claude-code": TranscriptFormat(claude_code.read_line),
    "codex": TranscriptFormat(codex.read_line),
    "copilot": TranscriptFormat(copilot.read_line),
    "gemini": TranscriptFormat(gemini.read_line, gemini.split),
    "opencode": TranscriptFormat(opencode.read_line, opencode.split),
}


@dataclass(frozen=True)
class _ReadLine:
    """A line, an id that is made of its bytes, and their number."""

    value: Line
    digest: str
    size: int


def read_messages(
    name: str,
    lines: Iterable[str | bytes],
    counts: TranscriptCounts | None = None,
    context: TranscriptContext | None = None,
) -> Iterator[ChatMessage]:
    """Yield the messages of a transcript in the order of their times.

    `counts` is filled in. `context` is what lines before these said; it is changed.
    """
    counts = counts if counts is not None else TranscriptCounts()
    context = context if context is not None else TranscriptContext()
    source = FORMATS[name]
    seen: set[str] = set()
    tools: dict[str, str] = {}  # {id of a call: name of its tool}
    for line in _by_time(_parse(source, lines, counts)):
        for message in _read(source, line, context, counts):
            complete = _complete(message, line, context, name)
            if complete.external_id in seen:
                counts.left_out["repeated"] += 1
                continue
            seen.add(complete.external_id)
            context.message_id = complete.external_id
            counts.messages += 1
            yield name_results(complete, tools)


def _parse(
    source: TranscriptFormat, lines: Iterable[str | bytes], counts: TranscriptCounts
) -> Iterator[_ReadLine]:
    for line in lines:
        raw = line.encode("utf-8", "replace") if isinstance(line, str) else line
        if not raw.strip():
            continue
        counts.lines += 1
        if has_too_many(raw):
            counts.left_out[f"more than {MAX_OBJECTS:,} objects and lists"] += 1
            continue
        try:
            # Characters that PostgreSQL cannot store become U+FFFD, as in a request.
            text = raw.decode("utf-8-sig", "replace")
            parsed = storable_json.parse(text, levels=settings.BODY_DEPTH)
            storable = storable_json.make_storable(parsed)
        except (ValueError, RecursionError):
            counts.left_out["not JSON"] += 1
            continue
        counts.replaced += len(storable.replaced)
        for value in _split(source, storable.value):
            if isinstance(value, dict):
                digest = _digest(raw if source.split is None else value)
                yield _ReadLine(value, digest, len(raw))
            else:
                counts.left_out["no object"] += 1


def _split(source: TranscriptFormat, value: Any) -> Iterator[Any]:
    if source.split is None:
        yield value
        return
    for each in value if isinstance(value, list) else [value]:
        if isinstance(each, dict):
            yield from source.split(each)
        else:
            yield each


def _digest(line: bytes | Line) -> str:
    """Return an id of a line; of a line in a document, of its value."""
    raw = line.strip() if isinstance(line, bytes) else json.dumps(line).encode()
    return hashlib.sha256(raw).hexdigest()[:40]


def _by_time(lines: Iterable[_ReadLine]) -> Iterator[_ReadLine]:
    """Yield the lines in the order of their times, within a window of lines."""
    window: list[tuple[str, int, _ReadLine]] = []
    newest, held = "", 0
    for number, line in enumerate(lines):
        moment = line.value.get("timestamp")
        moment = moment if isinstance(moment, str) else newest
        newest = max(newest, moment)
        heapq.heappush(window, (moment, number, line))
        held += line.size
        while len(window) > WINDOW or held > MAX_HELD:
            first = heapq.heappop(window)[2]
            held -= first.size
            yield first
    while window:
        yield heapq.heappop(window)[2]


def _read(
    source: TranscriptFormat,
    line: _ReadLine,
    context: TranscriptContext,
    counts: TranscriptCounts,
) -> list[ChatMessage]:
    try:
        messages = list(source.read_line(line.value, context))
    except UnknownLine as unknown:
        counts.unknown[f"type {unknown}"[:MAX_REASON]] += 1
        return _keep_unknown(str(unknown), line, counts)
    except LineWithoutMessage as reason:
        counts.left_out[str(reason)[:MAX_REASON]] += 1
        return []
    except MalformedMessage as error:
        counts.left_out[f"malformed: {error.path}"] += 1
        return []
    found = [each for each in messages if any(map(_has_words, each.parts))]
    if not found:
        counts.left_out["no words"] += 1
    return found


def _keep_unknown(
    kind: str, line: _ReadLine, counts: TranscriptCounts
) -> list[ChatMessage]:
    """Return a message without words that keeps a line, unless the line is long."""
    if len(str(line.value)) > MAX_UNKNOWN:
        counts.left_out[f"unknown and longer than {MAX_UNKNOWN} characters"] += 1
        return []
    part = {
        "type": "attachment",
        "media_type": "application/json",
        "name": kind[:100],
        "url": "",
    }
    metadata = {"meta": True, "line": dict(line.value)}
    return [
        ChatMessage(
            "system", (part,), external_id=line.digest, metadata={KEY: metadata}
        )
    ]


def _has_words(part: Part) -> bool:
    return part["type"] not in ("text", "thinking") or bool(part["text"].strip())


def _complete(
    message: ChatMessage, line: _ReadLine, context: TranscriptContext, name: str
) -> ChatMessage:
    fields = {"format": name, **context.fields(), **message.metadata.get(KEY, {})}
    # Each message has its own copy of these.
    fields |= {k: v[:MAX_FIELD] for k, v in fields.items() if isinstance(v, str)}
    return replace(
        message,
        external_id=(message.external_id or _make_id(message, line, context))[:MAX_ID],
        metadata={**message.metadata, KEY: fields},
    )


def _make_id(message: ChatMessage, line: _ReadLine, context: TranscriptContext) -> str:
    """Return an id of a message that has none.

    A line without a time may stand in the file twice: the message before tells them apart.
    """
    if message.created_at or not context.message_id:
        return line.digest
    return _digest(f"{context.message_id} {line.digest}".encode())
