"""Assemble the context of a session: the fresh tail whole, then older items newest first."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from django.db.models import QuerySet

from common.caller import Caller, Role
from conversations.agent_memory.preamble import Preamble, no_preamble
from conversations.assembly.pairs import ContextMessage, drop_orphans, shorten_results
from conversations.assembly.summary_element import escape_forgery, summary_element
from conversations.compaction import boundary, context
from conversations.formats.message import ChatMessage, Part
from conversations.models import Message, Session, Summary
from conversations.queries import read_pages
from conversations.tokens import estimate_tokens

WINDOW = 50  # items read first


@dataclass(frozen=True)
class Omission:
    """A range of messages that the context leaves out, or shortens, and why.

    The range of what stands in front of the messages is 0 to 0.
    """

    from_seq: int
    to_seq: int
    tokens: int
    why: str


@dataclass(frozen=True)
class Tail:
    """The fresh tail: its first seq, its messages and their tokens."""

    from_seq: int | None
    count: int
    tokens: int


@dataclass(frozen=True)
class AssembledContext:
    """The messages of a context in order, their tokens, and what was left out.

    `system` is the text in front of the messages; it is not one of them.
    """

    messages: list[ContextMessage]
    tokens: int
    tail: Tail
    left_out: list[Omission] = field(default_factory=list)
    system: str = ""


@dataclass(frozen=True)
class _Unit:
    """Messages that are taken or left together; `tokens` are those of the stored rows."""

    messages: tuple[ContextMessage, ...]
    first_seq: int
    last_seq: int
    stored_tokens: int
    # The summary of a unit that is one.
    summary: Summary | None = None

    @property
    def tokens(self) -> int:
        return sum(each.tokens for each in self.messages)


def assemble(
    session: Session,
    budget: int,
    caller: Caller,
    *,
    fresh_tail: int = context.FRESH_TAIL,
    preamble: Callable[[int], Preamble] = no_preamble,
) -> AssembledContext:
    """Build the context of a session within `budget` tokens.

    The last `fresh_tail` messages are always whole, even beyond the budget. Older messages
    and summaries are added, newest first, until one does not fit. If all of them fit,
    condensed summaries give way to what they were made of, as far as there is room.
    `preamble` returns the system text, within the tokens that the tail leaves.
    """
    caller.require(Role.VIEWER, session.project_id)
    tail_rows = context.read_tail(context.visible_messages(session), fresh_tail)
    tail = [_of_message(row) for row in tail_rows]
    tail_tokens = sum(each.tokens for each in tail)
    start = tail_rows[0].seq if tail_rows else session.last_seq + 1
    room = max(budget - tail_tokens, 0)
    front = preamble(room)
    room -= estimate_tokens(front.text)
    taken, unread = _take_older(session, start, room, _last_user_seq(session))
    if unread is None:
        taken = _expand_summaries(taken, room - sum(unit.tokens for unit in taken))
    older = [each for unit in reversed(taken) for each in unit.messages]
    chosen = [*older, *tail]
    messages = drop_orphans(chosen)
    return AssembledContext(
        messages=messages,
        tokens=sum(each.tokens for each in messages) + estimate_tokens(front.text),
        tail=Tail(tail_rows[0].seq if tail_rows else None, len(tail), tail_tokens),
        left_out=[
            *_cut_notes(front),
            *_left_out(session, taken, unread, tail_rows),
            *_placeholders(taken),
            *_orphans(chosen, messages),
        ],
        system=front.text,
    )


def _last_user_seq(session: Session) -> int:
    """Return the seq of the last message of the user; results before it are processed."""
    rows = context.visible_messages(session).filter(role=Message.MessageRole.USER)
    with_words = rows.filter(has_words=True).order_by("-seq")
    return with_words.values_list("seq", flat=True).first() or 0


def _of_message(row: Message) -> ContextMessage:
    message = ChatMessage(
        role=row.role,
        parts=tuple(_escape(part) for part in row.parts),
        external_id=row.external_id,
        metadata=row.metadata,
        created_at=row.created_at,
    )
    return ContextMessage(message, row.tokens, seq=row.seq)


def _escape(part: Part) -> Part:
    if part["type"] == "text" and "<" in part["text"]:
        return {**part, "text": escape_forgery(part["text"])}
    if part["type"] == "tool_result":
        content = part["content"]
        if isinstance(content, str):
            return {**part, "content": escape_forgery(content)}
        return {**part, "content": [_escape(inner) for inner in content]}
    if part["type"] == "attachment":
        return {name: escape_forgery(value) for name, value in part.items()}
    return part


def _of_summary(summary: Summary) -> ContextMessage:
    text = summary_element(summary)
    message = ChatMessage(
        role=Message.MessageRole.USER,
        parts=({"type": "text", "text": text},),
        created_at=summary.latest_at,
    )
    tokens = estimate_tokens(text)
    return ContextMessage(message, tokens, summary_id=summary.summary_id)


def _take_older(
    session: Session, start: int, room: int, last_user: int
) -> tuple[list[_Unit], _Unit | None]:
    """Take units, newest first, while they fit; also return the first that does not fit."""
    taken: list[_Unit] = []
    for unit in _units(session, start, last_user):
        if unit.tokens > room:
            return taken, unit
        room -= unit.tokens
        taken.append(unit)
    return taken, None


def _units(session: Session, start: int, last_user: int) -> Iterator[_Unit]:
    """Yield the context before the tail, newest first; calls stay with their results."""
    pending: list[Message] = []
    for item in _items(session, start):
        if pending and _may_part(item, pending[-1]):
            yield _message_unit(pending, last_user)
            pending = []
        if isinstance(item, Message):
            pending.append(item)
        else:
            yield _summary_unit(item)
    if pending:
        yield _message_unit(pending, last_user)


def _summary_unit(summary: Summary) -> _Unit:
    element = _of_summary(summary)
    first, last = summary.first_seq, summary.last_seq
    return _Unit((element,), first, last, summary.tokens, summary)


def _expand_summaries(newest_first: Sequence[_Unit], room: int) -> list[_Unit]:
    """Replace condensed summaries by their children, the newest first, while there is room.

    Leaves stay: their messages are asked for, one leaf at a time.
    """
    expanded: list[_Unit] = []
    waiting = list(newest_first)
    while waiting:
        unit = waiting.pop(0)
        children = _child_units(unit)
        extra = sum(child.tokens for child in children) - unit.tokens
        if children and extra <= room:
            room -= extra
            waiting = [*children, *waiting]
        else:
            expanded.append(unit)
    return expanded


def _child_units(unit: _Unit) -> list[_Unit]:
    """Return the units of a condensed summary's children, the newest first."""
    if unit.summary is None or unit.summary.kind == Summary.SummaryKind.LEAF:
        return []
    children = unit.summary.children.light().order_by("-first_seq")
    return list(map(_summary_unit, children))


def _may_part(before: Message | Summary, after: Message) -> bool:
    return isinstance(before, Summary) or boundary.may_cut(before, after)


def _message_unit(newest_first: Sequence[Message], last_user: int) -> _Unit:
    rows = newest_first[::-1]
    messages = [
        shorten_results(_of_message(row)) if row.seq < last_user else _of_message(row)
        for row in rows
    ]
    stored = sum(row.tokens for row in rows)
    return _Unit(tuple(messages), rows[0].seq, rows[-1].seq, stored)


def _items(session: Session, start: int) -> Iterator[Message | Summary]:
    """Yield messages without a leaf and summaries without a parent, newest first.

    A summary that reaches into the tail gives way to what it was made of.
    """
    rows = Message.objects.light().filter(session=session).without_leaf()
    messages = _read_newest(rows.filter(seq__lt=start), "seq")
    roots = context.root_summaries(session).filter(last_seq__lt=start)
    summaries = _read_newest(roots, "last_seq")
    reaching = context.root_summaries(session).filter(
        first_seq__lt=start, last_seq__gte=start
    )
    inner = [item for summary in reaching for item in _parts_before(summary, start)]
    yield from heapq.merge(
        messages,
        summaries,
        sorted(inner, key=_position, reverse=True),
        key=_position,
        reverse=True,
    )


def _position(item: Message | Summary) -> int:
    return item.seq if isinstance(item, Message) else item.last_seq


def _read_newest(rows: QuerySet[Any], name: str) -> Iterator[Message | Summary]:
    return chain.from_iterable(read_pages(rows, name, WINDOW, newest_first=True))


def _parts_before(summary: Summary, start: int) -> Iterator[Message | Summary]:
    """Yield what a summary that reaches into the tail covers before the tail."""
    if summary.kind == Summary.SummaryKind.LEAF:
        yield from summary.messages.light().visible().filter(seq__lt=start)
        return
    for child in summary.children.light().filter(first_seq__lt=start):
        if child.last_seq < start:
            yield child
        else:
            yield from _parts_before(child, start)


def _cut_notes(front: Preamble) -> list[Omission]:
    """Describe the notes of the agent for which there is no room."""
    if not front.left_out:
        return []
    return [Omission(0, 0, front.left_out, "soul, profile or constraints are cut")]


def _left_out(
    session: Session,
    taken: Sequence[_Unit],
    unread: _Unit | None,
    tail: Sequence[Message],
) -> list[Omission]:
    """Describe the older context that did not fit."""
    if unread is None:
        return []
    used = sum(unit.stored_tokens for unit in taken)
    used += sum(row.tokens for row in tail if row.leaf_id is None)
    tokens = max(session.context_tokens - used, unread.stored_tokens)
    return [Omission(1, unread.last_seq, tokens, "over the budget")]


def _placeholders(taken: Sequence[_Unit]) -> list[Omission]:
    """Describe the results that became placeholders."""
    every = []
    for unit in reversed(taken):
        saved = unit.stored_tokens - unit.tokens
        if saved > 0 and not unit.messages[0].summary_id:
            why = "large tool results are placeholders"
            every.append(Omission(unit.first_seq, unit.last_seq, saved, why))
    return every


def _orphans(
    chosen: Sequence[ContextMessage], kept: Sequence[ContextMessage]
) -> list[Omission]:
    """Describe the calls and results that were dropped because their partner is missing."""
    why = "calls without a result, or results without a call"
    left = {each.seq: each.tokens for each in kept if each.seq is not None}
    return [
        Omission(each.seq, each.seq, each.tokens - left.get(each.seq, 0), why)
        for each in chosen
        if each.seq is not None and left.get(each.seq) != each.tokens
    ]


def with_system(found: AssembledContext) -> list[ContextMessage]:
    """Return the messages with the system text as the first of them."""
    if not found.system:
        return found.messages
    part = {"type": "text", "text": found.system}
    message = ChatMessage(role=Message.MessageRole.SYSTEM, parts=(part,))
    first = ContextMessage(message, estimate_tokens(found.system))
    return [first, *found.messages]
