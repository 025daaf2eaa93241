"""Read the stored messages of a session."""

from __future__ import annotations

from dataclasses import dataclass

from conversations.models import Message, Session


@dataclass(frozen=True)
class HistoryPage:
    """Messages in their order, and whether there are others before and after them."""

    messages: list[Message]
    has_previous: bool
    has_next: bool


def read_history(
    session: Session,
    *,
    after_seq: int | None = None,
    before_seq: int | None = None,
    limit: int = 100,
) -> HistoryPage:
    """Return the first messages after a seq, or the last ones before a seq.

    With both, the first messages of the range.
    """
    rows = session.messages.light().visible()
    if after_seq is not None:
        rows = rows.filter(seq__gt=after_seq)
    if before_seq is not None:
        rows = rows.filter(seq__lt=before_seq)
    if before_seq is not None and after_seq is None:
        found = list(rows.order_by("-seq")[: limit + 1])
        return HistoryPage(found[:limit][::-1], len(found) > limit, bool(found))
    found = list(rows.order_by("seq")[: limit + 1])
    has_previous = bool(after_seq) and bool(found)
    return HistoryPage(found[:limit], has_previous, len(found) > limit)
