"""End a conversation, so that a job learns from it."""

from __future__ import annotations

from django.utils import timezone

from common.caller import Caller, Role
from common.db import write
from conversations.models import Session
from conversations.sessions import writers
from conversations.sessions.record import audit
from jobs import queue

KIND = "agent_conversation"


@write
def end_conversation(session: Session, caller: Caller) -> None:
    """Mark a conversation as ended and start the job that learns from it.

    An ended conversation stays as it is; a later invocation goes on with it.
    """
    caller.require(Role.WRITER, session.project_id)
    locked = writers.lock(session, caller)
    if locked.ended_at:
        return
    locked.ended_at = timezone.now()
    locked.save(update_fields=["ended_at"])
    audit(caller, "conversation.end", locked)
    queue.enqueue(
        KIND,
        project_id=locked.project_id,
        args={"session_id": str(locked.pk)},
        key=str(locked.pk),
    )
