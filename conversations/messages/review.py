"""The text of a session for a reviewer in the background (seed 002, Reviewer)."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from itertools import chain
from xml.sax.saxutils import escape

from conversations.compaction import context
from conversations.models import Message, Session
from conversations.queries import MessageQuerySet, read_pages
from conversations.summarizers.input_text import escape_roles
from conversations.summarizers.prompt import escape_structure
from conversations.tokens import estimate_tokens

DEFAULT_BUDGET = 100_000  # tokens (07a, L22)
PAGE = 500


def build_review_text(
    session: Session, since: datetime | None = None, budget: int = DEFAULT_BUDGET
) -> str:
    """Return all but tool messages as `[role] text`, the newest within the budget.

    With `since`, only newer messages, after the earlier summaries as background. Return ""
    if there is nothing to review.
    """
    rows = context.visible_messages(session).exclude(role=Message.MessageRole.TOOL)
    if since:
        rows = rows.filter(created_at__gt=since)
    lines: list[str] = []
    room = budget
    for line in _lines_newest_first(rows):
        size = estimate_tokens(line) + 1
        if size > room:
            break
        room -= size
        lines.append(line)
    if not lines:
        return ""
    background = _background(session, since, room) if since else ""
    return background + "\n".join(reversed(lines))


def _lines_newest_first(rows: MessageQuerySet) -> Iterator[str]:
    for message in chain.from_iterable(
        read_pages(rows, "seq", PAGE, newest_first=True)
    ):
        if text := _words(message):
            yield f"[{message.role}] {text}"


def _words(message: Message) -> str:
    """Return the words of a message, without its calls; it cannot pass for another line."""
    texts = (part["text"] for part in message.parts if part["type"] == "text")
    return escape_structure(escape_roles("\n".join(texts).strip()))


def _background(session: Session, since: datetime, room: int) -> str:
    """Return the summaries of what was before `since`, the newest within the room."""
    kept: list[str] = []
    rows = context.root_summaries(session).filter(earliest_at__lte=since)
    for content in rows.order_by("-first_seq").values_list("content", flat=True):
        size = estimate_tokens(content) + 1
        if size > room:
            break
        room -= size
        kept.append(escape(content))
    if not kept:
        return ""
    inner = "\n\n".join(reversed(kept))
    return f"<prior_context>\n{inner}\n</prior_context>\n"
