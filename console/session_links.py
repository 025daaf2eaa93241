"""URLs of the pages of sessions."""

from __future__ import annotations

import uuid
from typing import Any
from urllib.parse import urlencode

from django.urls import reverse
from django.utils.safestring import SafeString

from common.admin.panels import SHORT_LIMIT, short_text
from console.list_urls import link
from conversations.models import Session

AROUND = 5  # messages that the transcript shows before the one that a link names


def session_url(project_id: uuid.UUID, session_id: uuid.UUID, **query: Any) -> str:
    page = reverse("console:session", args=[session_id])
    named = {name: value for name, value in query.items() if value not in (None, "")}
    return f"{page}?{urlencode({'project': project_id} | named)}"


def message_url(project_id: uuid.UUID, session_id: uuid.UUID, seq: int) -> str:
    """Return the URL of a place in a transcript."""
    url = session_url(project_id, session_id, after=max(seq - AROUND - 1, 0))
    return f"{url}#m{seq}"


def summary_url(project_id: uuid.UUID, session_id: uuid.UUID, summary_id: str) -> str:
    """Return the URL of a summary in the tree of its session."""
    url = session_url(project_id, session_id, show="summaries", summary=summary_id)
    return f"{url}#{summary_id}"


def session_link(session: Session) -> SafeString:
    return link(session_url(session.project_id, session.pk), short_text(session))


def person_link(project_id: uuid.UUID, user_id: str, agent_id: str = "") -> SafeString:
    """Link to what is known about the user of a session.

    A session without a user is named by its agent, if `agent_id` says which.
    """
    query = urlencode({"project": project_id, "user": user_id or "0"})
    url = f"{reverse('console:person')}?{query}"
    nobody = f"{agent_id} (agent)" if agent_id else "anonymous"
    return link(url, short_text(user_id or nobody, SHORT_LIMIT))
