"""Find the sessions that a caller may see, and lock one for a change."""

from __future__ import annotations

import uuid

from common import errors
from common.caller import Caller, Role
from conversations.models import Session
from conversations.queries import OwnedQuerySet
from projects.models import Project

ANONYMOUS = ("", "0")


class AmbiguousSession(errors.StateConflict):
    """You may see two sessions with this key; name `user_id`, or use the session's id."""

    code = "ambiguous_session"


def read_user_id(value: object) -> str:
    """Return a user id as text; 0 and the empty text are the anonymous user."""
    text = "" if value is None else str(value)
    return "" if text in ANONYMOUS else text


def find_session(
    project: Project,
    key_or_id: str,
    caller: Caller,
    *,
    user_id: str | None = None,
    role: Role = Role.VIEWER,
) -> Session:
    """Find a session that the caller may see, by its key or else by its id.

    `user_id` tells sessions of two users apart that have the same key.
    """
    session = look_up(project, key_or_id, caller, user_id=user_id)
    if session is None:
        raise not_found_error(key_or_id)
    caller.require(role, project.pk)
    return session


def not_found_error(key_or_id: str) -> errors.NotFound:
    return errors.NotFound(
        f"There is no session {key_or_id[:200]!r}, or you may not see it."
    )


def look_up(
    project: Project, key_or_id: str, caller: Caller, *, user_id: str | None = None
) -> Session | None:
    """Like `find_session`, but return None if there is no such session."""
    rows: OwnedQuerySet = Session.objects.visible_to(caller, project)
    return _choose(rows, key_or_id, user_id)


def look_up_id(project: Project, value: str, caller: Caller) -> Session | None:
    """Return the session of an id, whoever its user is, if the caller may see it."""
    return _of_id(Session.objects.visible_to(caller, project), value)


def find_anonymous(project: Project, key_or_id: str, caller: Caller) -> Session:
    """Find a session to claim: one without a user, or else one that the caller may see.

    A key that is bound to a user sees no anonymous sessions, but it may claim one whose key
    it knows.
    """
    if project.is_visible_to(caller) and (
        found := _choose(_claimable(project, caller), key_or_id, "")
    ):
        caller.require(Role.WRITER, project.pk)
        return found
    return find_session(project, key_or_id, caller, role=Role.WRITER)


def _claimable(project: Project, caller: Caller) -> OwnedQuerySet:
    rows: OwnedQuerySet = Session.objects.filter(project=project)
    return rows.filter(agent_id=caller.agent_id) if caller.agent_id else rows


def _choose(rows: OwnedQuerySet, key_or_id: str, user_id: str | None) -> Session | None:
    if user_id is not None:
        rows = rows.filter(user_id=user_id)
    by_key = list(rows.filter(key=key_or_id)[:2])
    if len(by_key) > 1:
        raise AmbiguousSession
    if by_key:
        found: Session = by_key[0]
        return found
    return _of_id(rows, key_or_id)


def _of_id(rows: OwnedQuerySet, value: str) -> Session | None:
    session_id = read_id(value)
    return rows.filter(pk=session_id).first() if session_id else None


def read_id(value: str) -> uuid.UUID | None:
    """Return the id that a text writes, in any form of a UUID; None if it writes none."""
    try:
        return uuid.UUID(value)
    except ValueError:
        return None


def lock_session(session: Session) -> Session:
    """Lock the row of a session; every write of its messages and summaries does so first.

    Refuse with 404 if the session was purged meanwhile.
    """
    rows = Session.objects.select_for_update(no_key=True)
    locked: Session | None = rows.filter(pk=session.pk).first()
    if locked is None:
        raise not_found_error(session.key)
    return locked
