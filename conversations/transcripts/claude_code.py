"""Read the lines that Claude Code writes to `~/.claude/projects/<folder>/<session>.jsonl`.

A line's `uuid` is the message's external id. A resumed session repeats the lines of the
session before it with the same ids.

What a person types while the agent works waits in a queue. A line `queue-operation` says when
it goes in (`enqueue`) and out: `remove` gives it to the agent at work, `dequeue` makes it the
next prompt, a line of its own, and `popAll` gives it back to the person. An `attachment` of
the type `queued_command` is what was given at work, too.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from conversations.formats import anthropic
from conversations.formats.harness import split_harness
from conversations.formats.message import ChatMessage, MalformedMessage
from conversations.transcripts.events import (
    KEY,
    OUTSIDE_MARKS,
    QUEUED,
    LineWithoutMessage,
    QueuedWords,
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
TEXT_FIELDS = {"summary": "summary"}
# Lines that only serve the harness: steps of a call that runs, copies of files, its state.
WITHOUT_WORDS = re.compile(
    r"progress|file-history-snapshot|last-prompt|api-request(?:-blob)?|pr-link|permission-mode|mode"
    r"|(?:custom|ai)-title|agent-(?:name|color|setting)|tag|worktree-state|content-replacement"
    r"|attribution-snapshot"
)
# What a line says of a person's words; another origin is a part of the harness.
PERSON = ("", "human", "user")


def read_line(
    line: Mapping[str, Any], context: TranscriptContext
) -> Iterable[ChatMessage]:
    context.session_id = text_of(line, "sessionId") or context.session_id
    kind = text_of(line, "type")
    if kind in ("user", "assistant", "system"):
        context.cwd = text_of(line, "cwd") or context.cwd
        context.branch = text_of(line, "gitBranch") or context.branch
        return [_read_message(line, kind, context)]
    if kind == "queue-operation":
        return [_read_queue(line, context)]
    if kind == "attachment":
        return [_read_attachment(line, context)]
    if kind in TEXT_FIELDS:
        return [_read_note(line, TEXT_FIELDS[kind])]
    if WITHOUT_WORDS.fullmatch(kind):
        raise LineWithoutMessage(f"type {kind}")
    raise UnknownLine(kind or "line")


def read_waiting(context: TranscriptContext) -> Iterable[ChatMessage]:
    """Return what a person typed that still waits at the end.

    If a later part makes it a prompt, the prompt has the same id.
    """
    waiting, context.queue = context.queue, []
    return [
        _said(each.line, _queued_id(each), waiting=_digest(each.words))
        for each in waiting
        if each.words
    ]


def _read_queue(line: Mapping[str, Any], context: TranscriptContext) -> ChatMessage:
    operation = text_of(line, "operation")
    if operation == "enqueue":
        context.queue.append(QueuedWords(line, _typed(line)))
    elif operation == "popAll":
        context.queue.clear()
        context.waiting.clear()
    elif operation == "dequeue":
        context.dequeued = (context.queue or [QueuedWords({}, "")]).pop(0)
    elif operation == "remove" and context.queue:
        first = context.queue.pop(0)
        if first.words and not _is_told(first.words, context, by=1):
            return _said(first.line, _queued_id(first))
    raise LineWithoutMessage(f"queue-operation {operation}")


def _read_attachment(
    line: Mapping[str, Any], context: TranscriptContext
) -> ChatMessage:
    attachment = object_of(line, "attachment")
    kind = text_of(attachment, "type") or "attachment"
    is_prompt = text_of(attachment, "commandMode") in ("", "prompt")
    origin = text_of(
        object_of(attachment, "origin") or object_of(line, "origin"), "kind"
    )
    if kind != "queued_command" or not is_prompt or origin not in PERSON:
        raise LineWithoutMessage(f"attachment {kind}")
    if attachment.get("isMeta") is True or not (typed := _typed(line)):
        raise LineWithoutMessage(f"attachment {kind}")
    is_queued = any(each.words == typed for each in context.queue)
    if _is_told(typed, context, by=-1) or (
        not is_queued and _find_waiting(typed, context)
    ):
        raise LineWithoutMessage(f"attachment {kind}, told before")
    return _said(line, text_of(line, "uuid"))


def _is_told(typed: str, context: TranscriptContext, *, by: int) -> bool:
    """Return whether the other kind of line has told these words; note that this one does."""
    before = context.told[typed]
    context.told[typed] += by
    return before * by < 0


def _typed(line: Mapping[str, Any]) -> str:
    """Return the words that a person typed into the queue; "" for what the harness put in."""
    content = object_of(line, "attachment").get("prompt", line.get("content"))
    if isinstance(content, list):
        texts = [text_of(each, "text") for each in content if isinstance(each, dict)]
        content = "\n".join(filter(None, texts))
    text = content if isinstance(content, str) else ""
    return split_harness(text)[0].strip()


def _queued_id(queued: QueuedWords) -> str:
    """Return the id of what was put into the queue; the same words may be put in again."""
    return QUEUED + _digest(f"{text_of(queued.line, 'timestamp')} {queued.words}")


def _digest(words: str) -> str:
    return hashlib.sha256(words.encode()).hexdigest()[:40]


def _find_waiting(words: str, context: TranscriptContext) -> str:
    """Return the id under which an earlier part stored words of the queue, only once."""
    digest = _digest(words)
    found = next((key for key, each in context.waiting.items() if each == digest), "")
    context.waiting.pop(found, None)
    return found


def _find_stored_prompt(
    line: Mapping[str, Any], kept: Mapping[str, Any], context: TranscriptContext
) -> str:
    """Return the id under which an earlier part stored the prompt that left the queue.

    Between the two may stand the results of calls, and what the harness says.
    """
    first, content = context.dequeued, object_of(line, "message").get("content")
    if first is None:
        return ""
    words = _typed({"content": content})
    if not words or any(map(kept.get, OUTSIDE_MARKS)):
        if content == first.line.get("content"):  # what the harness queued itself
            context.dequeued = None
        return ""
    context.dequeued = None
    if first.line and words == first.words:
        known = _queued_id(first)
        context.waiting.pop(known, None)
        return known if known in context.stored else ""
    if (known := _find_waiting(words, context)) and first.line:
        context.queue.insert(0, first)  # what an earlier part queued went first
    return known


def _said(line: Mapping[str, Any], message_id: str, **marks: str) -> ChatMessage:
    return ChatMessage(
        "user",
        (text_part(_typed(line)),),
        external_id=message_id,
        created_at=moment_of(line),
        metadata={KEY: {"queued": True, **marks}},
    )


def _read_message(
    line: Mapping[str, Any], kind: str, context: TranscriptContext
) -> ChatMessage:
    sent = line.get("message")
    if kind == "system":
        sent = {"role": "system", "content": line.get("content") or ""}
    message = _read_words(sent)
    kept = {name: line[key] for key, name in KEPT_FIELDS.items() if _is_kept(line, key)}
    if model := text_of(object_of(line, "message"), "model"):
        kept["model"] = model
    if text_of(object_of(line, "origin"), "kind") not in PERSON:
        kept["meta"] = True
    stored = _find_stored_prompt(line, kept, context) if kind == "user" else ""
    return replace(
        message,
        external_id=stored or text_of(line, "uuid"),
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
