"""List sessions, the last active first, in pages that stay stable while sessions are used."""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import Q

from common.caller import Caller
from common.pagination import InvalidCursor
from conversations.models import Session
from conversations.queries import OwnedQuerySet
from projects.models import Project

MOST = 1_000  # sessions of one page


@dataclass(frozen=True)
class SessionFilters:
    """Which sessions to list; `user_id` "" is the anonymous user, and None is all users."""

    agent_id: str = ""
    user_id: str | None = None
    channel: str = ""
    key: str = ""
    text: str = ""
    include_archived: bool = False


def list_sessions(
    project: Project, filters: SessionFilters, caller: Caller
) -> OwnedQuerySet:
    """Return the sessions that the caller may see, the last active first."""
    rows: OwnedQuerySet = Session.objects.visible_to(caller, project)
    named: Mapping[str, Any] = {
        "agent_id": filters.agent_id,
        "channel": filters.channel,
        "key": filters.key,
    }
    rows = rows.filter(**{name: value for name, value in named.items() if value})
    if filters.user_id is not None:
        rows = rows.filter(user_id=filters.user_id)
    if not filters.include_archived:
        rows = rows.filter(archived_at=None)
    if filters.text:
        rows = rows.filter(
            Q(title__icontains=filters.text) | Q(key__icontains=filters.text)
        )
    return rows.order_by("-last_active", "-id")


@dataclass(frozen=True)
class SessionCursor:
    """The session at the end of a page."""

    last_active: datetime
    id: UUID

    def __str__(self) -> str:
        text = f"{self.last_active.isoformat()} {self.id}"
        return urlsafe_b64encode(text.encode()).decode()

    @classmethod
    def parse(cls, text: str) -> SessionCursor:
        try:
            moment, _, pk = urlsafe_b64decode(text.encode()).decode().partition(" ")
            return cls(datetime.fromisoformat(moment), UUID(pk))
        except ValueError:
            raise InvalidCursor from None

    def rows_after(self, rows: OwnedQuerySet) -> OwnedQuerySet:
        return rows.filter(
            Q(last_active__lt=self.last_active)
            | Q(last_active=self.last_active, id__lt=self.id)
        )


def read_page(
    rows: OwnedQuerySet, *, limit: int, offset: int = 0, cursor: str = ""
) -> tuple[list[Session], str]:
    """Return a page, and the cursor of the next one; an empty cursor ends the list.

    A limit of 0 is the largest page.
    """
    if cursor:
        rows, offset = SessionCursor.parse(cursor).rows_after(rows), 0
    size = limit or MOST
    found = list(rows[offset : offset + size + 1])
    page = found[:size]
    if len(found) <= size:
        return page, ""
    return page, str(SessionCursor(page[-1].last_active, page[-1].pk))
