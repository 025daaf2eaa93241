"""Read the context of a session: messages without a leaf, and summaries without a parent."""

from __future__ import annotations

import uuid
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import NamedTuple

from conversations.compaction import boundary
from conversations.models import Message, Session, Summary
from conversations.queries import MessageQuerySet, SummaryQuerySet, read_pages

FRESH_TAIL = 20  # messages that are never summarized
MIN_CONDENSED, MAX_CONDENSED = 2, 6  # summaries that one condensed summary replaces
WINDOW = 40  # messages read at a time: a chunk of 20, and what may have to stay with it
LOOK_BACK = 10  # messages before the tail that are read first for the cut


# What a summary is made of, without the copies of the parts in other columns.
SOURCE_FIELDS = (
    "seq",
    "role",
    "parts",
    "metadata",
    "tokens",
    "created_at",
    "redacted_at",
)


def visible_messages(session: Session) -> MessageQuerySet:
    rows: MessageQuerySet = Message.objects.light().visible().filter(session=session)
    return rows


def read_tail(rows: MessageQuerySet, size: int) -> list[Message]:
    """Return the fresh tail of a session's messages, in order."""
    tail: list[Message] = []
    if size <= 0:
        return tail
    for page in read_pages(rows, "seq", size + LOOK_BACK, newest_first=True):
        tail += page
        count = boundary.count_tail(tail, size)
        if count < len(tail):
            return tail[:count][::-1]
    return tail[::-1]


def find_tail_start(session: Session, size: int = FRESH_TAIL) -> int:
    """Return the seq of the first message of the fresh tail.

    Without a tail, it is the seq after the newest message.
    """
    rows = visible_messages(session).only("seq", "parts", "tokens")
    tail = read_tail(rows, size)
    return tail[0].seq if tail else session.last_seq + 1


def root_summaries(session: Session) -> SummaryQuerySet:
    """Return the summaries without a parent, in order."""
    rows = Summary.objects.light().filter(session=session).without_parent()
    ordered: SummaryQuerySet = rows.order_by("first_seq")
    return ordered


def find_leaf_source(session: Session, tail_start: int) -> list[Message]:
    """Return the oldest chunk of messages that a leaf may replace; none if it is empty."""
    starts = list(root_summaries(session).values_list("first_seq", flat=True))
    for run in _runs(session, tail_start, starts):
        rest: Iterator[Message] = run
        while first := next(rest, None):
            chunk, rest = _first_chunk(chain([first], rest))
            if boundary.is_compactable(chunk):
                return chunk
    return []


def _first_chunk(run: Iterator[Message]) -> tuple[list[Message], Iterator[Message]]:
    """Return the first chunk of a run, and the messages after it."""
    read: list[Message] = []

    def remember() -> Iterator[Message]:
        for message in run:
            read.append(message)
            yield message

    chunk = boundary.find_chunk(remember())
    return chunk, chain(read[len(chunk) :], run)


def _runs(
    session: Session, tail_start: int, starts: Sequence[int]
) -> Iterator[Iterator[Message]]:
    """Yield the runs of messages without a leaf that no summary interrupts.

    Each run must be read before the next one is asked for.
    """
    messages = _without_leaf(session, tail_start)
    pending: list[Message] = []

    def run(first: Message) -> Iterator[Message]:
        before = first
        yield first
        for message in messages:
            if bisect_right(starts, message.seq) > bisect_right(starts, before.seq):
                pending.append(message)
                return
            yield message
            before = message

    while first := (pending.pop() if pending else next(messages, None)):
        current = run(first)
        yield current
        for _ in current:  # the reader may have stopped early
            pass


def _without_leaf(session: Session, tail_start: int) -> Iterator[Message]:
    rows = Message.objects.filter(session=session, seq__lt=tail_start)
    sources = rows.without_leaf().only(*SOURCE_FIELDS)
    return chain.from_iterable(read_pages(sources, "seq", WINDOW))


class _SummaryPlace(NamedTuple):
    """Where a summary stands; a session may have thousands, so no whole rows are read."""

    pk: uuid.UUID
    depth: int
    first_seq: int
    last_seq: int


def find_condensed_source(session: Session) -> list[Summary]:
    """Return the oldest neighbouring summaries of the lowest depth that may become one."""
    roots = [
        _SummaryPlace(*row)
        for row in root_summaries(session).values_list(*_SummaryPlace._fields)
    ]
    if len(roots) < MIN_CONDENSED:
        return []
    rows = Message.objects.filter(session=session, seq__lt=roots[-1].first_seq)
    between = list(rows.without_leaf().order_by("seq").values_list("seq", flat=True))
    runs = [run for run in _summary_runs(roots, between) if len(run) >= MIN_CONDENSED]
    if not runs:
        return []
    lowest = min(runs, key=lambda run: (run[0].depth, run[0].first_seq))
    chosen = [place.pk for place in lowest[:MAX_CONDENSED]]
    return list(root_summaries(session).filter(pk__in=chosen))


def _summary_runs(
    roots: Sequence[_SummaryPlace], between: Sequence[int]
) -> Iterator[list[_SummaryPlace]]:
    """Yield the runs of summaries of one depth with no message between them."""
    run: list[_SummaryPlace] = []
    for place in roots:
        if run and not _are_neighbours(run[-1], place, between):
            yield run
            run = []
        run.append(place)
    if run:
        yield run


def _are_neighbours(
    before: _SummaryPlace, after: _SummaryPlace, between: Sequence[int]
) -> bool:
    is_one_depth = before.depth == after.depth
    start = bisect_right(between, before.last_seq)
    return is_one_depth and start == bisect_right(between, after.first_seq)
