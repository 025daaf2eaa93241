"""Begin a new session with the messages of another one."""

from __future__ import annotations

from dataclasses import replace

from common import errors
from common.caller import Caller, Role
from common.db import write
from conversations.formats.message import ChatMessage
from conversations.messages.append import MAX_MESSAGES, MessageBatch, append
from conversations.models import Message, Session
from conversations.queries import read_pages
from conversations.sessions.lifecycle import COMMITS, SessionDraft, bootstrap


class SessionExists(errors.StateConflict):
    """The user has a session with this key already; choose another key."""

    code = "session_exists"


@write
def fork(session: Session, seq: int, key: str, caller: Caller) -> Session:
    """Make a session of the same user and agent with the messages up to `seq`.

    The new session has no summaries; a compaction makes its own. That of commits is one for
    messages.
    """
    project = session.project
    caller.require(Role.WRITER, project.pk)
    draft = SessionDraft(
        key=key,
        agent_id=session.agent_id,
        user_id=session.user_id,
        channel=session.channel,
        title=session.title,
        metadata={**session.metadata, "forked_from": str(session.pk)},
        token_budget=session.token_budget,
        has_memory=session.has_memory,
    )
    if session.channel == COMMITS:
        draft = replace(draft, channel="", token_budget=None)
    copy, is_new = bootstrap(project, draft, caller)
    if not is_new:
        raise SessionExists
    rows = session.messages.light().visible().filter(seq__lte=seq)
    for page in read_pages(rows, "seq", MAX_MESSAGES):
        append(project, copy, MessageBatch(tuple(map(to_chat, page))), caller)
    copy.refresh_from_db()
    return copy


def to_chat(message: Message) -> ChatMessage:
    """Return a stored message in the shape of the formats."""
    return ChatMessage(
        role=message.role,
        parts=tuple(message.parts),
        external_id=message.external_id,
        metadata=message.metadata,
        created_at=message.created_at,
    )
