"""The rows of a session's tree of summaries, unfolded down to one of them."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from console.sessions.transcript import MessageView, view_messages
from conversations.compaction import context
from conversations.models import Session, Summary

MAX_ROOTS = 300  # of one page
MAX_MESSAGES = 60  # under a leaf
MAX_INDENT = 6


@dataclass(frozen=True)
class SummaryRow:
    """A summary, or a range of messages that no summary covers.

    `views` are the messages of a leaf that is unfolded.
    """

    indent: int
    first_seq: int
    last_seq: int
    summary: Summary | None = None
    is_open: bool = False
    views: list[MessageView] = field(default_factory=list)


class SummaryTree(NamedTuple):
    """The rows of a tree; `next_after` is the seq from which the next page goes on."""

    rows: list[SummaryRow]
    next_after: int | None


def read_tree(session: Session, opened: Summary | None, after: int = 0) -> SummaryTree:
    """Return the rows from a seq on, with the ancestors of one summary unfolded."""
    path = set(_path_to(opened))
    found = context.root_summaries(session).filter(first_seq__gt=after)
    roots = list(found[: MAX_ROOTS + 1])
    rows: list[SummaryRow] = []
    expected = after + 1
    for root in roots[:MAX_ROOTS]:
        rows += _between(expected, root.first_seq - 1)
        rows += _unfold(root, path, 0)
        expected = root.last_seq + 1
    if len(roots) > MAX_ROOTS:
        return SummaryTree(rows, expected - 1)
    return SummaryTree([*rows, *_between(expected, session.last_seq)], None)


def _path_to(summary: Summary | None) -> Iterator[uuid.UUID]:
    while summary is not None:
        yield summary.pk
        summary = summary.parent


def _between(first: int, last: int) -> list[SummaryRow]:
    return [SummaryRow(0, first, last)] if first <= last else []


def _unfold(
    summary: Summary, path: set[uuid.UUID], indent: int
) -> Iterator[SummaryRow]:
    is_open = summary.pk in path
    is_leaf = summary.kind == Summary.SummaryKind.LEAF
    messages = summary.messages.light().visible().order_by("seq")
    yield SummaryRow(
        min(indent, MAX_INDENT),
        summary.first_seq,
        summary.last_seq,
        summary,
        is_open,
        view_messages(messages[:MAX_MESSAGES], {}) if is_open and is_leaf else [],
    )
    if is_open and not is_leaf:
        for child in summary.children.light().order_by("first_seq"):
            yield from _unfold(child, path, indent + 1)
