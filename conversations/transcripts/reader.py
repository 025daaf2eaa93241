"""Read the messages of a transcript of any format.

Each line with words becomes a message, also those that teach nothing (meta, sidechain,
compaction, echoes of commands): a session is stored without loss. Lines that have no words,
such as the times of a turn, and those of a type that the format's parser does not know are
counted. So is an element that nobody knows and that fills a prompt: it is the harness's
(docs/decisions/0052).
"""

from __future__ import annotations

import hashlib
import heapq
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, NamedTuple

from django.conf import settings

from common.text import storable_json
from conversations.formats.convert import name_results
from conversations.formats.harness import find_unknown_element
from conversations.formats.message import ChatMessage, MalformedMessage, Part
from conversations.transcripts import claude_code, codex, copilot, gemini, opencode
from conversations.transcripts.events import (
    KEY,
    LineWithoutMessage,
    TranscriptContext,
    TranscriptCounts,
    UnknownLine,
)
from conversations.transcripts.fields import EARLIEST, moment_of
from conversations.transcripts.line_source import MAX_OBJECTS, has_too_many

# Lines are put in the order of their times as far as this many lines allow, because the file
# is read as a stream.
WINDOW = 500
MAX_HELD = 8 * 1024 * 1024  # bytes of the lines that wait to be put in order
_GAP = re.compile(r"[\s\0]*")
_MEMBER = re.compile(r'[}\]]|,\s{0,20}["{]')  # goes on with an object or a list
MAX_GAP = 20  # characters of white space between an object and what damages a record
MAX_TRIED = 200  # damaged records of a line behind which another is looked for
MAX_PARSED = 4  # times that the characters of a damaged line are parsed
MAX_PARTS = 5_000  # of one message; each costs what a line costs
MAX_ID = 255  # characters of an external id
MAX_FIELD = 4_096  # characters of a folder, a branch or another text beside the words
MAX_REASON = 100  # characters of a reason that is counted
Line = Mapping[str, Any]


@dataclass(frozen=True)
class TranscriptFormat:
    """The parser of one format.

    `read_line` returns the messages of a line; an external id that it leaves out is made of
    the line. It raises LineWithoutMessage, UnknownLine and MalformedMessage. `split` divides
    a value that holds several lines, such as a whole document. `read_end` returns what waits
    at the end.
    """

    read_line: Callable[[Line, TranscriptContext], Iterable[ChatMessage]]
    split: Callable[[Line], Iterator[Line]] | None = None
    read_end: Callable[[TranscriptContext], Iterable[ChatMessage]] = lambda _: ()


FORMATS = {
    "claude-code": TranscriptFormat(
        claude_code.read_line, read_end=claude_code.read_waiting
    ),
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
    for message, digest in _read_all(source, lines, context, counts):
        complete = _complete(message, digest, context, name)
        if complete.external_id in seen:
            counts.left_out["repeated"] += 1
            continue
        seen.add(complete.external_id)
        context.message_id = complete.external_id
        counts.messages += 1
        yield name_results(complete, tools)


def _read_all(
    source: TranscriptFormat,
    lines: Iterable[str | bytes],
    context: TranscriptContext,
    counts: TranscriptCounts,
) -> Iterator[tuple[ChatMessage, str]]:
    """Yield each message with the digest of its line, and at last what still waits."""
    for line in _by_time(_parse(source, lines, counts)):
        for message in _read(source, line, context, counts):
            yield message, line.digest
    for message in source.read_end(context):
        yield message, ""


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
        values, is_damaged = read_values(raw.decode("utf-8-sig", "replace"))
        if is_damaged:
            counts.left_out["not JSON"] += 1
        is_alone = source.split is None and not is_damaged and len(values) == 1
        for storable in values:
            counts.replaced += len(storable.replaced)
            for value in _split(source, storable.value):
                if isinstance(value, dict):
                    digest = _digest(raw if is_alone else value)
                    yield _ReadLine(value, digest, len(raw))
                else:
                    counts.left_out["no object"] += 1


def read_values(text: str) -> tuple[list[storable_json.StorableJSON], bool]:
    """Return the JSON values of a line, and whether something in it is no JSON.

    A writer that died, or two that write at once, leave a whole record behind a part of
    another one. Characters that PostgreSQL cannot store become U+FFFD.
    """
    found: list[storable_json.StorableJSON] = []
    is_damaged = False
    place = end = first = _skip_gap(text, 0)
    tried = parsed = 0
    while (
        0 <= place < len(text)
        and tried < MAX_TRIED
        and parsed <= MAX_PARSED * len(text)
    ):
        attempt = _read_value(text, place)
        tried += attempt.value is None
        parsed += attempt.end - place
        behind = _skip_gap(text, attempt.end)
        is_last = behind == len(text)
        # Before something else than an object, it is a value inside a damaged record.
        is_before_object = text[place] == text[behind : behind + 1] == "{"
        # What begins the line is held by nothing, unless a cut took the head of what holds it.
        is_first = place == first and not _MEMBER.match(text, behind)
        if attempt.value and (is_last or is_before_object or is_first):
            found.append(attempt.value)
            is_damaged |= _skip_gap(text, end) < place
            end = attempt.end
        place = text.find("{", attempt.next)
    is_damaged |= _skip_gap(text, end) < len(text)
    return found, is_damaged or not found


class _Attempt(NamedTuple):
    """What stands at a place, how far it was read, and from where to look on."""

    value: storable_json.StorableJSON | None
    end: int
    next: int


def _read_value(text: str, place: int) -> _Attempt:
    end = len(text)
    try:
        value, end = storable_json.read(text, place, levels=settings.BODY_DEPTH)
        return _Attempt(storable_json.make_storable(value), end, end)
    except storable_json.EqualKeys:
        return _Attempt(None, end, end)
    except storable_json.TooDeep as error:
        return _Attempt(None, error.pos, error.pos)
    except json.JSONDecodeError as error:
        is_open = error.msg.startswith("Unterminated string")  # read to the end
        return _Attempt(
            None, end if is_open else error.pos, _next_place(text, place, error.pos)
        )
    except RecursionError:
        return _Attempt(None, end, place + 1)


def _next_place(text: str, place: int, end: int) -> int:
    """Return from where to look for a record if that at a place is damaged at its end.

    A record begins right before the damage, where a text ended by its first quote, or behind
    it. Only if a whole object stands before the damage, it may be a record that was read as a
    part of the damaged one, and which object that is shows when each is read.
    """
    if text[max(place, end - MAX_GAP) : end].rstrip().endswith("}"):
        return place + 1
    return max(text.rfind("{", place + 1, end + 1), place + 1)


def _skip_gap(text: str, place: int) -> int:
    gap = _GAP.match(text, place)
    return gap.end() if gap else place


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
    window: list[tuple[datetime, int, _ReadLine]] = []
    newest, held = EARLIEST, 0
    for number, line in enumerate(lines):
        moment = moment_of(line.value) or newest
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
        return []
    except LineWithoutMessage as reason:
        counts.left_out[str(reason)[:MAX_REASON]] += 1
        return []
    except MalformedMessage as error:
        counts.left_out[f"malformed: {error.path}"] += 1
        return []
    found = [
        part
        for each in messages
        if any(map(_has_words, each.parts))
        for part in _mark_unknown_elements(
            _cut_parts(each, counts), line, context, counts
        )
    ]
    if not found:
        counts.left_out["no words"] += 1
    return found


def _cut_parts(message: ChatMessage, counts: TranscriptCounts) -> ChatMessage:
    """Leave out the parts of a message beyond MAX_PARTS, and count them."""
    extra = len(message.parts) - MAX_PARTS
    if extra <= 0:
        return message
    counts.left_out[f"parts of a message beyond {MAX_PARTS:,}"] += extra
    return replace(message, parts=message.parts[:MAX_PARTS])


def _mark_unknown_elements(
    message: ChatMessage,
    line: _ReadLine,
    context: TranscriptContext,
    counts: TranscriptCounts,
) -> Iterator[ChatMessage]:
    """Yield a message; texts that an unknown element fills are one of the harness, counted."""
    texts = [p["text"] if p["type"] == "text" else "" for p in message.parts]
    names = list(map(find_unknown_element, texts)) if message.role == "user" else []
    counts.unknown.update(f"element {name}"[:MAX_REASON] for name in names if name)
    pairs = list(zip(message.parts, names, strict=False))
    words = tuple(part for part, name in pairs if not name)
    elements = tuple(part for part, name in pairs if name)
    if not elements:
        yield message
        return
    own = message.external_id or _make_id(message, line.digest, context)
    if any(map(_has_words, words)):
        yield replace(message, parts=words, external_id=own)
        own = f"{own}:added"
    fields = {**message.metadata.get(KEY, {}), "meta": True}
    marked = {**message.metadata, KEY: fields}
    yield replace(message, parts=elements, external_id=own, metadata=marked)


def _has_words(part: Part) -> bool:
    return part["type"] not in ("text", "thinking") or bool(part["text"].strip())


def _complete(
    message: ChatMessage, digest: str, context: TranscriptContext, name: str
) -> ChatMessage:
    fields = {"format": name, **context.fields(), **message.metadata.get(KEY, {})}
    # Each message has its own copy of these.
    fields |= {k: v[:MAX_FIELD] for k, v in fields.items() if isinstance(v, str)}
    return replace(
        message,
        external_id=(message.external_id or _make_id(message, digest, context))[
            :MAX_ID
        ],
        metadata={**message.metadata, KEY: fields},
    )


def _make_id(message: ChatMessage, digest: str, context: TranscriptContext) -> str:
    """Return an id of a message that has none.

    A line without a time may stand in the file twice: the message before tells them apart.
    """
    if message.created_at or not context.message_id:
        return digest
    return _digest(f"{context.message_id} {digest}".encode())
