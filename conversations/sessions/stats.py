"""Count what a session has."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from conversations.models import Session


@dataclass(frozen=True)
class SessionStats:
    """Sums over the messages of a session that are not hidden (seed 002)."""

    message_count: int = 0
    token_count: int = 0
    summary_count: int = 0
    oldest_at: datetime | None = None
    newest_at: datetime | None = None


def stats_of(session: Session | None) -> SessionStats:
    """Return the stats of a session; zeros if there is none."""
    if session is None:
        return SessionStats()
    times = session.messages.visible().values_list("created_at", flat=True)
    return SessionStats(
        message_count=session.message_count,
        token_count=session.token_count,
        summary_count=session.summaries.count(),
        oldest_at=times.order_by("seq").first(),
        newest_at=times.order_by("-seq").first(),
    )
