"""Append messages to a session.

Messages are first prepared, outside of any lock, and then inserted under the lock of the
session's row. Appends to one session therefore wait for each other, and appends to different
sessions do not.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from django.utils import timezone

from common import errors
from common.caller import Caller, Role
from common.db import write
from common.text import plain_text
from common.text.quote import visible_line
from conversations.compaction import compaction_need
from conversations.formats.harness import is_of_harness, split_harness
from conversations.formats.message import ChatMessage, Part
from conversations.models import Message, Session
from conversations.queries import MessageQuerySet
from conversations.search_index import search_columns, vectors
from conversations.sessions import writers
from conversations.sessions.lifecycle import COMMITS
from conversations.tokens import estimate_tokens
from projects import search_language, secret_policy
from projects.models import Project

MAX_CHARACTERS = 1_000_000  # of one message
MAX_MESSAGES = 500  # in one append
MAX_EXTERNAL_ID = 255
MAX_TITLE = 80  # characters of a title that is made from the first message
SPOKEN_ROLES = frozenset({Message.MessageRole.USER, Message.MessageRole.ASSISTANT})


class TooManyMessages(errors.StateConflict):
    """The session has as many messages as the project allows; begin a new session, or raise
    `conversations.messages_per_session`.
    """

    code = "too_many_messages"


class CommitsOnly(errors.StateConflict):
    """The session keeps the commits of the repository: send commits to /commits, and messages
    to another session.
    """

    code = "session_identity"


@dataclass(frozen=True)
class MessageBatch:
    """Messages that are ready to be appended, and what their answer says about them."""

    messages: tuple[ChatMessage, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class AppendReceipt:
    """What an append stored; the seqs are None if it stored nothing."""

    session: Session
    first_seq: int | None = None
    last_seq: int | None = None
    count: int = 0
    tokens: int = 0
    needs_compaction: bool = False
    notes: tuple[str, ...] = ()


def prepare(project: Project, messages: Sequence[ChatMessage]) -> MessageBatch:
    """Check the messages, and mask their secrets as the project's settings say.

    Refuse with 413 if a message is too long.
    """
    kinds: dict[str, None] = {}
    prepared = []
    for position, message in enumerate(messages):
        _refuse_long(position, message)
        masked, found = _mask(project.options.secrets, message)
        kinds |= dict.fromkeys(found)
        prepared.append(masked)
    notes = (secret_policy.describe(list(kinds)),) if kinds else ()
    return MessageBatch(tuple(prepared), notes)


def _refuse_long(position: int, message: ChatMessage) -> None:
    characters = count_characters(message)
    if characters > MAX_CHARACTERS:
        raise errors.TooLarge(
            f"Message {position} has {characters:,} characters; a message has at most "
            f"{MAX_CHARACTERS:,}. Store the rest elsewhere and name it.",
            errors={f"messages.{position}": [f"{characters:,} characters"]},
        )


def count_characters(message: ChatMessage) -> int:
    """Return the characters of a message's parts; the types of the parts are none of them."""
    return sum(map(_part_length, message.parts))


def _part_length(part: Part) -> int:
    content = part.get("content", "")  # of a result: a text or parts
    inner = content if isinstance(content, list) else []
    types = [part["type"], *(each["type"] for each in inner)]
    return _length(part) - sum(map(len, types))


def _length(value: Any) -> int:
    """Return the number of characters of all texts of a JSON value."""
    if isinstance(value, str):
        return len(value)
    if isinstance(value, dict):
        return sum(map(_length, value.values()))
    return sum(map(_length, value)) if isinstance(value, list) else 0


def _mask(mode: str, message: ChatMessage) -> tuple[ChatMessage, list[str]]:
    sent = {
        "parts": list(message.parts),
        "metadata": dict(message.metadata),
        "key": message.external_id,
    }
    masked, kinds = secret_policy.guard(mode, sent)
    if not kinds:
        return message, []
    parts: tuple[Part, ...] = tuple(masked["parts"])
    changed = replace(
        message,
        parts=parts,
        metadata=masked["metadata"],
        external_id=masked["key"][:MAX_EXTERNAL_ID],
    )
    return changed, kinds


@write
def append(
    project: Project,
    session: Session,
    batch: MessageBatch,
    caller: Caller,
    *,
    is_of_commits: bool = False,
) -> AppendReceipt:
    """Store the messages at the end of a session, in one transaction.

    A message whose `external_id` the session has already is not stored again. An append to
    an archived or ended session opens the session again. An empty append changes nothing.
    The session of commits takes them only, and none that an undo hid.
    """
    caller.require(Role.WRITER, project.pk)
    if session.channel == COMMITS and not is_of_commits:
        raise CommitsOnly
    if not batch.messages:
        return AppendReceipt(session, notes=batch.notes)
    locked = writers.lock(session, caller)
    rows = locked.messages.all() if is_of_commits else locked.messages.visible()
    new, notes = _leave_out_known(rows, batch.messages)
    if not new:
        return AppendReceipt(locked, notes=(*batch.notes, *notes))
    _refuse_over_quota(project, locked, len(new))
    language = search_language.pin_language(project.pk)
    stored = _build_rows(locked, new, language)
    Message.objects.bulk_create(stored)
    writers.add_writer(locked, caller)
    _update_session(locked, stored)
    if any(row.has_words for row in stored):
        vectors.embed_messages_later(project.pk)
    is_due = compaction_need.is_compaction_due(project, locked)
    if is_due:
        compaction_need.compact_later(locked)
    return AppendReceipt(
        locked,
        first_seq=stored[0].seq,
        last_seq=stored[-1].seq,
        count=len(stored),
        tokens=sum(row.tokens for row in stored),
        needs_compaction=is_due,
        notes=(*batch.notes, *notes),
    )


def _leave_out_known(
    rows: MessageQuerySet, messages: Iterable[ChatMessage]
) -> tuple[list[ChatMessage], tuple[str, ...]]:
    """Leave out the messages whose external id the rows or the batch have already."""
    sent = [each.external_id for each in messages if each.external_id]
    known = rows.filter(external_id__in=sent)
    seen = set(known.values_list("external_id", flat=True))
    new: list[ChatMessage] = []
    repeated = 0
    for message in messages:
        if message.external_id and message.external_id in seen:
            repeated += 1
            continue
        seen.add(message.external_id)
        new.append(message)
    if not repeated:
        return new, ()
    return new, (f"{repeated} messages were stored before (the same external_id).",)


def _refuse_over_quota(project: Project, session: Session, count: int) -> None:
    most = project.options.conversations.messages_per_session
    if session.last_seq + count > most:
        raise TooManyMessages(
            f"The session has {session.last_seq:,} messages, and the project allows "
            f"{most:,}. Begin a new session, or have an owner raise "
            "conversations.messages_per_session."
        )


def _build_rows(
    session: Session, messages: Iterable[ChatMessage], language: str
) -> list[Message]:
    return [
        build_row(session, seq, message, language)
        for seq, message in enumerate(messages, start=session.last_seq + 1)
    ]


def build_row(
    session: Session, seq: int, message: ChatMessage, language: str
) -> Message:
    """Return the unsaved row of a message at a seq, with its search columns."""
    row = Message(
        session=session,
        project_id=session.project_id,
        seq=seq,
        role=message.role,
        parts=list(message.parts),
        text=message.text,
        tokens=count_tokens(message),
        external_id=message.external_id,
        metadata=dict(message.metadata),
        created_at=message.created_at or timezone.now(),
    )
    words = search_columns.words_of(row)
    row.has_words = row.role in SPOKEN_ROLES and bool(words.strip())
    search_columns.fill_message(row, language)
    return row


def count_tokens(message: ChatMessage) -> int:
    """Return the estimate of a message's tokens, with those of its thinking."""
    thinking = (part["text"] for part in message.parts if part["type"] == "thinking")
    return estimate_tokens(message.text) + estimate_tokens("\n".join(thinking))


def _update_session(session: Session, rows: Sequence[Message]) -> None:
    tokens = sum(row.tokens for row in rows)
    is_first = not session.message_count
    session.last_seq = rows[-1].seq
    session.message_count += len(rows)
    session.token_count += tokens
    session.context_tokens += tokens
    session.last_active = _last_active(session, rows, is_first=is_first)
    session.archived_at = session.ended_at = None
    session.title = session.title or title_of(rows)
    session.save()


def _last_active(
    session: Session, rows: Sequence[Message], *, is_first: bool
) -> datetime:
    """Return the time of the newest message; an imported session keeps its old times."""
    newest = max(row.created_at for row in rows)
    return newest if is_first else max(session.last_active, newest)


def title_of(rows: Sequence[Message]) -> str:
    """Make a title from the first words of a person, without what a harness added."""
    for row in rows:
        is_said = row.role == Message.MessageRole.USER and row.has_words
        if is_said and not is_of_harness(row.metadata):
            words, _ = split_harness(search_columns.words_of(row))
            if words.strip():
                return clip_title(words)
    return ""


def clip_title(text: str) -> str:
    return plain_text.clip(visible_line(text), MAX_TITLE)
