"""Store a part of a coding agent's transcript in its session.

The messages are stored in batches, each in its own transaction, and then the cursor with the
job that learns from the new tasks. Whoever is interrupted in between sends the part again: a
message whose external id is known is not stored again.
"""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import IO, Any

from django.utils import timezone

from access.restored_caller import caller_of
from common import errors
from common.caller import Caller, Role
from common.db import write
from conversations.formats.message import ChatMessage
from conversations.messages.append import (
    MAX_CHARACTERS,
    MAX_MESSAGES,
    MessageBatch,
    TooManyMessages,
    append,
    count_characters,
    prepare,
)
from conversations.models import Session, Transcript
from conversations.sessions import writers
from conversations.sessions.lifecycle import SessionIdentity
from conversations.sessions.lookup import lock_session
from conversations.transcripts.events import (
    KEY,
    QUEUED,
    TranscriptContext,
    TranscriptCounts,
    recorded_fields,
)
from conversations.transcripts.line_source import LineSource
from conversations.transcripts.reader import FORMATS, read_messages
from conversations.transcripts.tasks import prompt_of
from jobs import queue
from projects.models import Project

MAX_BATCH = 1_000_000  # characters of messages in one transaction
MAX_LINES = (
    5_000  # of a part, and new messages of it; a line and its row take 0.7 ms of CPU
)
KIND = "transcript"  # the job that learns: agents.learning.transcript_job


class TooManyTranscriptLines(errors.TooLarge):
    """A part of a transcript has too many lines; send the file in parts of fewer lines."""

    code = "too_many_lines"


class TranscriptCursor(errors.StateConflict):
    """The file was read to another place, or has changed before it: `cursor` and `prefix` say
    what is known. Send the file from byte 0; nothing is stored twice.
    """

    code = "transcript_cursor"


@dataclass(frozen=True)
class TranscriptPart:
    """The bytes of a file from `cursor` on.

    `prefix` is the SHA-256 of the bytes before them, and `end_prefix` that of all bytes up to
    the end of the part. Without `end_prefix`, only a part from byte 0 can be continued:
    nobody but the sender has the bytes before the others. `is_final` says that the agent has
    finished its last task.
    """

    format: str
    file: IO[bytes]
    cursor: int = 0
    prefix: str = ""
    end_prefix: str = ""
    is_final: bool = False


@dataclass
class TranscriptReceipt:
    """What was stored of a part; `tasks` are prompts that led to a tool call.

    `job_id` is the job that learns; None if there is nothing new to learn. `is_whole` says
    whether all messages of the part are stored; if not, the cursor stays, and the same part
    again stores the next ones.
    """

    session: Session
    cursor: int = 0
    prefix: str = ""
    messages: int = 0
    tasks: int = 0
    counts: TranscriptCounts = field(default_factory=TranscriptCounts)
    job_id: uuid.UUID | None = None
    is_whole: bool = True


def find_transcript(session: Session, name: str = "") -> Transcript | None:
    """Return the state of the session's transcript in a format, or of the last one sent."""
    rows = Transcript.objects.filter(session=session)
    rows = rows.filter(format=name) if name else rows
    found: Transcript | None = rows.order_by("-updated_at").first()
    return found


def receive(
    project: Project, session: Session, part: TranscriptPart, caller: Caller
) -> TranscriptReceipt:
    """Store the new messages of a part, and let a job learn from its tasks.

    Refuse with 409 if the part does not begin where the last one ended, unless it begins at
    byte 0, and if another person sends the session's transcript.
    """
    caller.require(Role.WRITER, project.pk)
    _refuse_other_person(session, caller)
    refuse_other_cursor(session, part)
    _refuse_many_lines(part.file)
    receipt = TranscriptReceipt(session)
    digest = hashlib.sha256()
    lines = LineSource(
        part.file,
        receipt.counts,
        may_be_document=FORMATS[part.format].split is not None,
        on_bytes=digest.update,
    )
    context = _context_of(session) if part.cursor else TranscriptContext()
    context.waiting, context.stored = _queued_of(session)
    waiting = set(context.waiting)
    messages = read_messages(part.format, lines, receipt.counts, context)
    limited = _limit(_count_tasks(messages, receipt), receipt)
    prepared = _prepare(project, limited, receipt.counts)
    try:
        for batch in _batches(prepared):
            receipt.messages += append(project, session, batch, caller).count
    # What was stored is learned from; the rest can be sent again when there is room.
    except TooManyMessages:
        _save(project, part, receipt, caller, is_whole=False)
        raise
    if not receipt.is_whole:
        receipt.cursor, receipt.prefix = part.cursor, part.prefix
        _save(project, replace(part, is_final=False), receipt, caller)
        return receipt
    receipt.cursor = part.cursor + lines.consumed
    receipt.prefix = _prefix_of(part, digest.hexdigest(), is_whole=lines.is_whole)
    given = waiting - set(context.waiting)
    _save(project, part, receipt, caller, given=given)
    return receipt


def _refuse_many_lines(file: IO[bytes]) -> None:
    """Refuse before anything is stored: a line costs as much as a row, however short it is."""
    blocks = iter(lambda: file.read(MAX_BATCH), b"")
    count = sum(block.count(b"\n") for block in blocks)
    file.seek(0)
    if count > MAX_LINES:
        raise TooManyTranscriptLines(
            f"The part has {count:,} lines; a part has at most {MAX_LINES:,}. Send the file "
            "in parts."
        )


def _limit(
    messages: Iterable[ChatMessage], receipt: TranscriptReceipt
) -> Iterator[ChatMessage]:
    """Leave what goes beyond a part's new messages to the same part when it comes again."""
    for message in messages:
        if receipt.messages >= MAX_LINES:
            receipt.is_whole = False
            receipt.counts.messages -= 1
            receipt.counts.left_out["waits: send the same part again"] += 1
            return
        yield message


def _refuse_other_person(session: Session, caller: Caller) -> None:
    """Refuse to mix the words of two people: tasks are learned as those of the sender."""
    writers.refuse_other(session, caller)
    if writers.voice_of(session, caller) == writers.USER:
        return
    for known in Transcript.objects.filter(session=session):
        if not caller_of(known).own_names & caller.own_names:
            raise SessionIdentity(
                "Another person's key sends the transcript of this session; begin another "
                "session."
            )


def refuse_other_cursor(session: Session, part: TranscriptPart) -> None:
    if part.cursor == 0:
        return
    known = find_transcript(session, part.format)
    cursor, prefix = (known.cursor, known.prefix) if known else (0, "")
    if (part.cursor, part.prefix) != (cursor, prefix) or not prefix:
        raise TranscriptCursor(cursor=cursor, prefix=prefix)


def _context_of(session: Session) -> TranscriptContext:
    """Return what the lines before a part said, from the last message that was stored."""
    rows = session.messages.visible().order_by("-seq")
    metadata, message_id = rows.values_list("metadata", "external_id").first() or (
        {},
        "",
    )
    fields = recorded_fields(metadata)
    cwd, branch, model = (
        str(fields.get(name) or "") for name in ("cwd", "branch", "model")
    )
    return TranscriptContext(cwd=cwd, branch=branch, model=model, message_id=message_id)


def _queued_of(session: Session) -> tuple[dict[str, str], frozenset[str]]:
    """Return what earlier parts stored of the queue: what waits, and the ids of all.

    What waits is {id: digest of its words}.
    """
    rows = session.messages.visible().filter(external_id__startswith=QUEUED)
    found = list(rows.order_by("seq").values_list("external_id", "metadata"))
    waiting = {
        message_id: str(digest)
        for message_id, metadata in found
        if (digest := recorded_fields(metadata).get("waiting"))
    }
    return waiting, frozenset(message_id for message_id, _ in found)


def _note_given(session: Session, message_ids: Collection[str]) -> None:
    """Note that what waited was given to the agent: the same words are a new prompt next time."""
    for row in session.messages.filter(external_id__in=message_ids):
        fields = recorded_fields(row.metadata).items()
        row.metadata[KEY] = {k: v for k, v in fields if k != "waiting"}
        row.save(update_fields=["metadata"])


def _count_tasks(
    messages: Iterable[ChatMessage], receipt: TranscriptReceipt
) -> Iterator[ChatMessage]:
    """Count the prompts after which a tool was called."""
    is_open = False
    for message in messages:
        if prompt_of(message):
            is_open = True
        elif is_open and message.call_ids:
            receipt.tasks += 1
            is_open = False
        yield message


def _prepare(
    project: Project, messages: Iterable[ChatMessage], counts: TranscriptCounts
) -> Iterator[ChatMessage]:
    """Yield the messages with their secrets masked, without those that may not be stored."""
    for message in messages:
        if count_characters(message) > MAX_CHARACTERS:
            counts.messages -= 1
            counts.left_out[f"longer than {MAX_CHARACTERS:,} characters"] += 1
            continue
        try:
            yield from prepare(project, [message]).messages
        # The project refuses secrets: the rest of the session is kept.
        except errors.Refusal as refusal:
            counts.messages -= 1
            counts.left_out[refusal.code] += 1


def _batches(messages: Iterable[ChatMessage]) -> Iterator[MessageBatch]:
    """Yield the messages of one transaction each, so that memory and locks stay small."""
    batch, characters = list[ChatMessage](), 0
    for message in messages:
        batch.append(message)
        characters += count_characters(message) + len(json.dumps(message.metadata))
        if len(batch) == MAX_MESSAGES or characters > MAX_BATCH:
            yield MessageBatch(tuple(batch))
            batch, characters = [], 0
    if batch:
        yield MessageBatch(tuple(batch))


def _prefix_of(part: TranscriptPart, digest: str, *, is_whole: bool) -> str:
    if part.cursor == 0:
        return digest
    return part.end_prefix if is_whole else ""


@write
def _save(
    project: Project,
    part: TranscriptPart,
    receipt: TranscriptReceipt,
    caller: Caller,
    *,
    is_whole: bool = True,
    given: Collection[str] = (),
) -> None:
    """Store how far the file was read, and enqueue the job in the same transaction.

    The cursor stays where it was if not the whole part was stored. `given` are the ids of
    messages that waited before and have become prompts.
    """
    session = lock_session(receipt.session)
    _note_given(session, given)
    _refuse_other_person(session, caller)
    known = find_transcript(session, part.format)
    row = known or Transcript(
        session=session, project_id=project.pk, format=part.format
    )
    is_news = bool(receipt.messages) or known is None
    is_end = part.is_final and row.ended_at is None
    if is_whole:
        row.cursor, row.prefix = receipt.cursor, receipt.prefix
    row.last_seq = session.last_seq
    if is_news or is_end:
        row.ended_at = timezone.now() if part.is_final else None
        row.updated_at = timezone.now()
        _set_sender(row, project, session, caller)
    row.save()
    receipt.session = session
    if (is_news or is_end) and project.options.conversations.learn_from_transcripts:
        receipt.job_id = learn_later(row)


def _set_sender(
    row: Transcript, project: Project, session: Session, caller: Caller
) -> None:
    row.actor = caller.name[:200]
    row.key_id, row.account_id = caller.key_id, caller.account_id
    row.agent_id = session.agent_id
    row.is_attested = caller.attests_in(project.pk)


def learn_later(transcript: Transcript) -> uuid.UUID:
    """Enqueue the job that learns from the tasks that are over; return its id."""
    job = queue.enqueue_or_find(KIND, **job_of(transcript))
    return uuid.UUID(str(job.pk))


def job_of(transcript: Transcript) -> dict[str, Any]:
    """Return the fields of the job that learns from a transcript; only one such job waits."""
    return {
        "project_id": transcript.project_id,
        "args": {"transcript_id": str(transcript.pk)},
        "key": str(transcript.pk),
    }
