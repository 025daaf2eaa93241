"""Find and begin conversations, and record, read and hide their invocations."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.db.models import Max
from django.utils import timezone

from common import errors
from common.caller import Caller, Role
from common.db import write
from conversations.invocations.switch import require_memory
from conversations.models import Invocation, Session
from conversations.queries import InSessionQuerySet
from conversations.sessions import lifecycle, writers
from conversations.sessions.lifecycle import SessionDraft, resolve_user
from conversations.sessions.lookup import look_up, not_found_error
from conversations.sessions.record import audit
from projects import secret_policy
from projects.models import Project

AGENT = "react-mem"  # the agent of a conversation that names none, as in seed 004
MAX_INVOCATIONS = 10_000  # of one conversation; docs/limits.md
MAX_TEXT = 20_000  # characters of a query, a summary or a result


class TooManyInvocations(errors.StateConflict):
    """The conversation has as many invocations as one may have; begin another one."""

    code = "too_many_invocations"


def find_conversation(
    project: Project,
    conversation_id: str,
    user: str,
    caller: Caller,
    *,
    role: Role = Role.VIEWER,
) -> Session:
    """Find a conversation by its key (or else its row's id) and its user, or raise NotFound.

    Without a user, a bound key finds the conversations of its own user, and another key
    finds anonymous ones only.
    """
    session = look_up_conversation(project, conversation_id, user, caller)
    if session is None:
        raise not_found_error(conversation_id)
    caller.require(role, project.pk)
    return session


def look_up_conversation(
    project: Project, conversation_id: str, user: str, caller: Caller
) -> Session | None:
    """Like `find_conversation`, but return None for a conversation that has not begun.

    Raise NotFound for another user's name.
    """
    user_id = resolve_user(user, caller)
    session = look_up(project, conversation_id, caller, user_id=user_id)
    if session is not None:
        session.project = project
    return session


def begin_conversation(
    project: Project,
    conversation_id: str,
    user: str,
    caller: Caller,
    agent_id: str = AGENT,
) -> Session:
    """Return the user's conversation of this key; make it if there is none.

    A conversation that exists keeps its agent. `agent_id` is that of a new one, unless the
    key is bound to an agent.
    """
    caller.require(Role.WRITER, project.pk)
    user_id = resolve_user(user, caller)
    session = look_up(project, conversation_id, caller, user_id=user_id)
    if session is None or writers.is_foreign(session, caller):
        draft = SessionDraft(
            key=conversation_id, agent_id=caller.agent_id or agent_id, user_id=user_id
        )
        session, _ = lifecycle.bootstrap(project, draft, caller)
    session.project = project
    return session


def list_invocations(session: Session, caller: Caller) -> InSessionQuerySet:
    """Return the invocations of a conversation that are not hidden, the first one first."""
    rows: InSessionQuerySet = Invocation.objects.visible_to(caller, session.project)
    return rows.filter(session=session, hidden_at=None).order_by("seq")


@write
def append_invocation(
    session: Session,
    query: str,
    summary: str,
    result: str,
    caller: Caller,
    run_id: uuid.UUID | None = None,
    at: datetime | None = None,
    begun_at: datetime | None = None,
) -> Invocation:
    """Add an invocation at the end of a conversation, which goes on if it was ended.

    A run is added once: a repetition returns the row that is there, hidden or not. A run
    that began (`begun_at`) before the conversation was deleted is hidden. Each
    text is cut after MAX_TEXT characters. Secrets are treated as the project says, but those
    of a run are masked where the project refuses them, because the run is over. Raise
    MemoryOff, TooManyInvocations or SecretFound.
    """
    caller.require(Role.WRITER, session.project_id)
    locked = writers.lock(session, caller)
    if run_id and (known := Invocation.objects.filter(run_id=run_id).first()):
        stored: Invocation = known
        return stored
    require_memory(locked.project, locked.user_id, locked)
    last = Invocation.objects.filter(session=locked).aggregate(seq=Max("seq"))["seq"]
    seq = (last or 0) + 1
    if seq > MAX_INVOCATIONS:
        raise TooManyInvocations(
            f"A conversation has at most {MAX_INVOCATIONS:,} invocations; begin another "
            "conversation with another id."
        )
    texts = {"query": query, "summary": summary, "result": result}
    texts = {name: text[:MAX_TEXT] for name, text in texts.items()}
    mode = locked.project.options.secrets
    texts, _ = secret_policy.guard(
        "mask" if run_id and mode == "reject" else mode, texts
    )
    row: Invocation = Invocation.objects.create(
        session=locked,
        project_id=locked.project_id,
        seq=seq,
        run_id=run_id,
        created_at=at or timezone.now(),
        hidden_at=_find_hidden_at(locked, begun_at),
        **texts,
    )
    locked.ended_at = None
    locked.last_active = max(locked.last_active, timezone.now())
    locked.save(update_fields=["ended_at", "last_active"])
    audit(caller, "invocation.create", locked, invocation=str(row.pk))
    return row


def _find_hidden_at(session: Session, begun_at: datetime | None) -> datetime | None:
    hidden_at: datetime | None = session.invocations_hidden_at
    is_hidden = hidden_at and begun_at and begun_at <= hidden_at
    return hidden_at if is_hidden else None


def update_conversation(
    session: Session, changes: Mapping[str, Any], caller: Caller
) -> Session:
    """Merge metadata (a null removes a key), or turn the conversation's memory on or off."""
    names = {"metadata": "metadata", "enabled": "has_memory"}
    known = {names[name]: value for name, value in changes.items()}
    updated = lifecycle.update_session(session, known, caller)
    updated.project = session.project
    return updated


@write
def hide_invocations(session: Session, caller: Caller) -> int:
    """Hide the invocations of a conversation from every later context; return their number.

    Those of runs that have begun, and that are still to be recorded, are hidden too. The
    messages of the session stay. A purge deletes both.
    """
    caller.require(Role.WRITER, session.project_id)
    locked = writers.lock(session, caller)
    rows = Invocation.objects.filter(session=locked, hidden_at=None)
    locked.invocations_hidden_at = timezone.now()
    locked.save(update_fields=["invocations_hidden_at"])
    count: int = rows.update(hidden_at=locked.invocations_hidden_at)
    audit(caller, "conversation.delete", locked, invocations=count)
    return count
