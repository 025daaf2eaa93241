"""Describe and expand summaries, back to the original messages."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar

from common import errors
from common.caller import Caller
from conversations.models import Message, Summary
from projects.models import Project

DEFAULT_TOKEN_CAP = 4_000

T = TypeVar("T", Message, Summary)


@dataclass(frozen=True)
class DescribeResult:
    """A summary with its place in the tree (seed 002)."""

    summary_id: str
    kind: str
    depth: int
    content: str
    earliest_at: datetime
    latest_at: datetime
    descendant_count: int
    parent_ids: list[str]
    child_ids: list[str]


@dataclass(frozen=True)
class ExpandResult:
    """The messages of a leaf, or the children of a condensed summary (seed 002).

    `next_after_seq` goes on where the token cap ended the answer.
    """

    summary_id: str
    messages: list[Message]
    children: list[Summary]
    truncated: bool
    next_after_seq: int | None = None


def find_summary(
    summary_id: str, caller: Caller, project: Project | None = None
) -> Any:
    """Find a summary that the caller may see; refuse with 404 otherwise."""
    rows = Summary.objects.visible_to(caller, project).light()
    found = (
        rows.select_related("session", "parent").filter(summary_id=summary_id).first()
    )
    if found is None:
        raise not_found_error(summary_id)
    return found


def not_found_error(summary_id: str) -> errors.NotFound:
    return errors.NotFound(
        f"There is no summary {summary_id[:50]!r}, or you may not see it. A summary "
        "ends when a message under it is redacted or undone."
    )


def describe(summary: Summary) -> DescribeResult:
    parent = summary.parent
    return DescribeResult(
        summary_id=summary.summary_id,
        kind=summary.kind,
        depth=summary.depth,
        content=summary.content,
        earliest_at=summary.earliest_at,
        latest_at=summary.latest_at,
        descendant_count=summary.message_count,
        parent_ids=[parent.summary_id] if parent else [],
        child_ids=_child_ids(summary),
    )


def _child_ids(summary: Summary) -> list[str]:
    if summary.kind == Summary.SummaryKind.LEAF:
        messages = summary.messages.visible().order_by("seq")
        return [str(pk) for pk in messages.values_list("pk", flat=True)]
    children = summary.children.order_by("first_seq")
    return list(children.values_list("summary_id", flat=True))


def expand(
    summary: Summary, token_cap: int = DEFAULT_TOKEN_CAP, after_seq: int = 0
) -> ExpandResult:
    """Return what a summary was made of, in order, until the next item would pass the cap.

    At least one item is returned.
    """
    if summary.kind == Summary.SummaryKind.LEAF:
        rows = summary.messages.light().visible().filter(seq__gt=after_seq)
        messages, is_cut = _take(rows.order_by("seq"), token_cap)
        last = messages[-1].seq if messages and is_cut else None
        return ExpandResult(summary.summary_id, messages, [], is_cut, last)
    inner = summary.children.light().filter(first_seq__gt=after_seq)
    children, is_cut = _take(inner.order_by("first_seq"), token_cap)
    last = children[-1].last_seq if children and is_cut else None
    return ExpandResult(summary.summary_id, [], children, is_cut, last)


def _take(rows: Iterable[T], cap: int) -> tuple[list[T], bool]:
    taken: list[T] = []
    room = cap
    for row in rows:
        if taken and row.tokens > room:
            return taken, True
        taken.append(row)
        room -= row.tokens
    return taken, False
