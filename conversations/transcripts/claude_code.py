"""Read the lines that Claude Code writes to `~/.claude/projects/<folder>/<session>.jsonl`.

A line's `uuid` is the message's external id. A resumed session repeats the lines of the
session before it with the same ids.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from conversations.formats import anthropic
from conversations.formats.message import ChatMessage, MalformedMessage
from conversations.transcripts.events import (
    KEY,
    LineWithoutMessage,
    TranscriptContext,
    UnknownLine,
)
from conversations.transcripts.fields import moment_of, object_of, text_of, text_part

# The fields of a line that a message keeps in its metadata.
KEPT_FIELDS = {
    "uuid": "uuid",
    "parentUuid": "parent",
    "isSidechain": "sidechain",
    "isMeta": "meta",
    "isCompactSummary": "compaction",
    "requestId": "request_id",
    "subtype": "subtype",
}
MAX_KEPT = 255  # characters of such a field
# Lines whose words are in this field; they are the harness's.
TEXT_FIELDS = {"summary": "summary", "queue-operation": "content"}
# Lines that only serve the harness: steps of a call that runs, and copies of files.
WITHOUT_WORDS = frozenset({"progress", "file-history-snapshot"})


def read_line(
    line: Mapping[str, Any], context: TranscriptContext
) -> Iterable[ChatMessage]:
    context.session_id = text_of(line, "sessionId") or context.session_id
    kind = text_of(line, "type")
    if kind in ("user", "assistant", "system"):
        context.cwd = text_of(line, "cwd") or context.cwd
        context.branch = text_of(line, "gitBranch") or context.branch
        return [_read_message(line, kind)]
    if kind in TEXT_FIELDS:
        return [_read_note(line, TEXT_FIELDS[kind])]
    if kind in WITHOUT_WORDS:
        raise LineWithoutMessage(f"type {kind}")
    raise UnknownLine(kind or "line")


def _read_message(line: Mapping[str, Any], kind: str) -> ChatMessage:
    sent = line.get("message")
    if kind == "system":
        sent = {"role": "system", "content": line.get("content") or ""}
    message = _read_words(sent)
    kept = {name: line[key] for key, name in KEPT_FIELDS.items() if _is_kept(line, key)}
    if model := text_of(object_of(line, "message"), "model"):
        kept["model"] = model
    return replace(
        message,
        external_id=text_of(line, "uuid"),
        created_at=moment_of(line),
        metadata={KEY: kept},
    )


def _is_kept(line: Mapping[str, Any], key: str) -> bool:
    value = line.get(key)
    return value is True or 0 < len(text_of(line, key)) <= MAX_KEPT


def _read_words(sent: Any) -> ChatMessage:
    if not isinstance(sent, dict):
        raise MalformedMessage("message", "Must be an object.")
    role, content = sent.get("role"), sent.get("content")
    if not isinstance(content, str | list):
        raise MalformedMessage("content", "Must be a text or a list of blocks.")
    return anthropic.read_message({"role": role, "content": content})


def _read_note(line: Mapping[str, Any], name: str) -> ChatMessage:
    return ChatMessage(
        "system",
        (text_part(text_of(line, name)),),
        created_at=moment_of(line),
        metadata={KEY: {"meta": True, "type": line["type"]}},
    )
