"""Read an export of sessions, and store the sessions and agent memories that are missing."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from django.db import transaction

from common import errors
from common.api.serializers import validate
from common.caller import Caller, Role
from common.ids import uuid7
from common.text import storable_json
from conversations.agent_memory.changelog import changes_of
from conversations.agent_memory.pair import MemoryPair
from conversations.exchange.lines import LINES
from conversations.formats.message import ChatMessage, MalformedMessage, read_parts
from conversations.messages.append import build_row, prepare
from conversations.models import (
    AgentMemoryChange,
    Invocation,
    MemorySwitch,
    Message,
    Session,
    Summary,
    new_summary_id,
)
from conversations.search_index import search_columns, vectors
from conversations.sessions.lifecycle import SessionDraft, bootstrap
from conversations.tokens import estimate_tokens
from projects import search_language, secret_policy
from projects.models import Project

BATCH = 500  # rows that are inserted in one statement
MAX_LINE = 8_000_000  # bytes; a message has at most 1,000,000 characters
DRAFT = ("key", "agent_id", "user_id", "channel", "title", "metadata", "token_budget")
STATE = (
    "created_at",
    "last_active",
    "archived_at",
    "ended_at",
    "snapshot_version",
    "snapshot_at",
    "has_memory",
    "scanned_invocation",
)

Fields = dict[str, Any]


class BrokenExport(ValueError):
    """The file is not a whole export of sessions; the message says where it is broken."""


@dataclass
class RestoreCounts:
    """What an import stored, and what the project had already and kept."""

    sessions: int = 0
    messages: int = 0
    agent_memories: int = 0
    known_sessions: int = 0
    known_agent_memories: int = 0


@dataclass(frozen=True)
class ExportLine:
    """A line of the file: its number, its type and its fields."""

    number: int
    kind: str
    fields: Fields


def restore_sessions(
    project: Project, lines: Iterable[bytes], caller: Caller
) -> Iterator[RestoreCounts]:
    """Store what an export has and the project lacks; yield the counts after each part.

    A session that the project has, by key and user, is kept as it is, and so are the notes
    of an agent and a user. A part is stored whole or not at all, so a repeated import goes
    on where a broken one ended. Raise BrokenExport for a file that is no whole export, and
    DatabaseError if another writer took the same session first.
    """
    caller.require(Role.OWNER, project.pk)
    counts = RestoreCounts()
    reader = _LineReader(lines)
    reader.take("header")
    kinds = ("session", "agent_memory", "memory_switch", "end")
    while (line := reader.take(*kinds)).kind != "end":
        if line.kind == "session":
            _restore_session(project, line, reader, counts, caller)
        elif line.kind == "memory_switch":
            _restore_switch(project, line)
        else:
            _restore_pair(project, line, reader, counts, caller)
        yield counts


class _LineReader:
    """Reads lines one by one, and knows the number of each."""

    def __init__(self, lines: Iterable[bytes]) -> None:
        self._lines = enumerate(lines, start=1)

    def take(self, *kinds: str) -> ExportLine:
        """Return the next line, which must be of one of these types."""
        number, text = next(self._lines, (0, b""))
        if not number:
            raise BrokenExport(f"The file ends before a line of type {kinds[0]}.")
        line = _parse(number, text)
        if line.kind not in kinds:
            raise BrokenExport(
                f"Line {number} has the type {line.kind}; expected {' or '.join(kinds)}."
            )
        return line

    def take_many(self, kind: str, count: int) -> Iterator[ExportLine]:
        for _ in range(count):
            yield self.take(kind)

    def skip(self, kind: str, count: int) -> None:
        for _ in self.take_many(kind, count):
            pass


def _parse(number: int, text: bytes) -> ExportLine:
    if len(text) > MAX_LINE:
        raise BrokenExport(f"Line {number} has more than {MAX_LINE:,} bytes.")
    try:
        # Characters that PostgreSQL cannot store become U+FFFD, as in a request.
        value = storable_json.make_storable(json.loads(text)).value
        kind = value.pop("type")
        fields = validate(LINES[kind], value)
    except (ValueError, RecursionError, AttributeError, KeyError, TypeError) as error:
        raise BrokenExport(f"Line {number} is no line of an export.") from error
    except errors.Refusal as refusal:
        wrong = "; ".join(
            f"{name}: {' '.join(found)}" for name, found in refusal.errors.items()
        )
        raise BrokenExport(f"Line {number}: {refusal.detail} {wrong}") from refusal
    return ExportLine(number, kind, fields)


def _restore_session(
    project: Project,
    line: ExportLine,
    reader: _LineReader,
    counts: RestoreCounts,
    caller: Caller,
) -> None:
    fields = line.fields
    rows = Session.objects.filter(project=project, key=fields["key"])
    if rows.filter(user_id=fields["user_id"]).exists():
        reader.skip("summary", fields["summary_count"])
        reader.skip("message", fields["last_seq"])
        reader.skip("invocation", fields["invocation_count"])
        counts.known_sessions += 1
        return
    counts.messages += _store_session(project, fields, reader, caller)
    counts.sessions += 1


# No `common.db.write` here: a repeat would find the lines of the file already read.
@transaction.atomic
def _store_session(
    project: Project, fields: Fields, reader: _LineReader, caller: Caller
) -> int:
    """Store a session with its summaries and messages; return how many messages it has."""
    shown = _mask(project, {name: fields[name] for name in DRAFT if name != "key"})
    draft = SessionDraft(key=fields["key"], **shown)
    session, _ = bootstrap(project, draft, caller)
    language = search_language.pin_language(project.pk)
    lines = reader.take_many("summary", fields["summary_count"])
    names = _store_summaries(session, lines, language)
    lines = reader.take_many("message", fields["last_seq"])
    _store_messages(session, lines, names, language)
    _store_invocations(
        session, reader.take_many("invocation", fields["invocation_count"])
    )
    for name in STATE:
        setattr(session, name, fields[name])
    session.writers = fields.get("writers", session.writers)
    session.last_seq = fields["last_seq"]
    session.add_up()
    session.save()
    vectors.embed_messages_later(project.pk)
    vectors.embed_summaries_later(project.pk)
    return session.last_seq


def _store_summaries(
    session: Session, lines: Iterator[ExportLine], language: str
) -> dict[str, Summary]:
    """Store summaries; return them by the ids of the file.

    An id that another session has is replaced by a new one.
    """
    parents: dict[str, ExportLine] = {}
    made: dict[str, Summary] = {}
    for line in lines:
        fields = dict(line.fields)
        name, parent = fields.pop("summary_id"), fields.pop("parent_name")
        if name in made:
            raise BrokenExport(f"Line {line.number} repeats the summary {name}.")
        content = _mask(session.project, fields.pop("content"))
        made[name] = Summary(
            pk=uuid7(),
            session=session,
            project_id=session.project_id,
            summary_id=name,
            content=content,
            tokens=estimate_tokens(content),
            **fields,
        )
        search_columns.fill_summary(made[name], language)
        if parent is not None:
            parents[name] = line
    for name, line in parents.items():
        made[name].parent = _of_name(made, line.fields["parent_name"], line)
    taken = Summary.objects.filter(summary_id__in=made).values_list(
        "summary_id", flat=True
    )
    for name in set(taken):
        made[name].summary_id = new_summary_id()
    # A parent may come after its children: PostgreSQL checks the links at the commit.
    Summary.objects.bulk_create(made.values(), batch_size=BATCH)
    return made


def _of_name(made: dict[str, Summary], name: str, line: ExportLine) -> Summary:
    if name not in made:
        raise BrokenExport(
            f"Line {line.number} names the summary {name!r}, which its session lacks."
        )
    return made[name]


def _store_messages(
    session: Session,
    lines: Iterator[ExportLine],
    names: dict[str, Summary],
    language: str,
) -> None:
    batch: list[Message] = []
    for seq, line in enumerate(lines, start=1):
        if line.fields["seq"] != seq:
            raise BrokenExport(f"Line {line.number} must have the seq {seq}.")
        batch.append(_message_of(session, line, names, language))
        if len(batch) == BATCH:
            Message.objects.bulk_create(batch)
            batch = []
    Message.objects.bulk_create(batch)


def _store_invocations(session: Session, lines: Iterator[ExportLine]) -> None:
    seqs: set[int] = set()
    rows: list[Invocation] = []
    for line in lines:
        if line.fields["seq"] in seqs:
            raise BrokenExport(f"Line {line.number} repeats an invocation's seq.")
        seqs.add(line.fields["seq"])
        texts = {name: line.fields[name] for name in ("query", "summary", "result")}
        rows.append(
            Invocation(
                session=session,
                project_id=session.project_id,
                **line.fields | _mask(session.project, texts),
            )
        )
    Invocation.objects.bulk_create(rows, batch_size=BATCH)


def _restore_switch(project: Project, line: ExportLine) -> None:
    """Store the switch of a user who has none."""
    MemorySwitch.objects.get_or_create(
        project=project,
        user_id=line.fields["user_id"],
        defaults={"is_enabled": line.fields["is_enabled"]},
    )


def _message_of(
    session: Session, line: ExportLine, names: dict[str, Summary], language: str
) -> Message:
    fields = line.fields
    try:
        parts = read_parts(fields["parts"])
    except MalformedMessage as error:
        raise BrokenExport(f"Line {line.number}: {error}") from error
    message = ChatMessage(
        role=fields["role"],
        parts=parts,
        external_id=fields["external_id"],
        metadata=fields["metadata"],
        created_at=fields["created_at"],
    )
    (masked,) = prepare(session.project, [message]).messages
    row = build_row(session, fields["seq"], masked, language)
    row.hidden_at, row.redacted_at = fields["hidden_at"], fields["redacted_at"]
    row.has_words = row.has_words and row.redacted_at is None
    if fields["leaf_name"] is not None:
        row.leaf = _of_name(names, fields["leaf_name"], line)
    return row


def _restore_pair(
    project: Project,
    line: ExportLine,
    reader: _LineReader,
    counts: RestoreCounts,
    caller: Caller,
) -> None:
    fields = line.fields
    pair = MemoryPair(project, fields["user_id"], fields["agent_id"])
    if pair.find().version or changes_of(pair).exists():
        reader.skip("change", fields["change_count"])
        counts.known_agent_memories += 1
        return
    _store_pair(pair, fields, reader.take_many("change", fields["change_count"]))
    counts.agent_memories += 1


@transaction.atomic
def _store_pair(
    pair: MemoryPair, fields: Fields, changes: Iterator[ExportLine]
) -> None:
    """Store the notes of an agent and a user with their changelog."""
    memory = pair.lock()
    texts = {name: fields[name] for name in ("profile", "soul", "constraints")}
    for name, value in _mask(pair.project, texts).items():
        setattr(memory, name, value)
    memory.version = fields["version"]
    memory.save()
    own = Session.objects.filter(project=pair.project, user_id=pair.user_id)
    sessions = dict(own.filter(agent_id=pair.agent_id).values_list("key", "pk"))
    AgentMemoryChange.objects.bulk_create(
        (
            AgentMemoryChange(
                project_id=pair.project_id,
                user_id=pair.user_id,
                agent_id=pair.agent_id,
                session_id=sessions.get(line.fields["session_key"]),
                **_mask(pair.project, line.fields),
            )
            for line in changes
        ),
        batch_size=BATCH,
    )


def _mask(project: Project, value: Any) -> Any:
    masked, _ = secret_policy.guard(project.options.secrets, value)
    return masked
