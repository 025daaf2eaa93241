"""Keep the sessions of one person apart from what another person's key writes.

`Session.writers` has a name of each person who wrote: of a session with a user, USER stands for
all who speak for that user.
"""

from __future__ import annotations

from common import errors
from common.caller import Caller
from conversations.models import Session
from conversations.sessions.lookup import lock_session

USER = "user"
MAX_WRITERS = 20  # more are not counted: the session belongs to many already


class OtherWriter(errors.StateConflict):
    """Another person's key writes this session; begin another session."""

    code = "session_identity"


def voice_of(session: Session, caller: Caller) -> str:
    """Return the name under which the caller writes to a session."""
    if session.user_id and caller.speaks_for(session.user_id, session.project_id):
        return USER
    return caller.person


def is_foreign(session: Session, caller: Caller) -> bool:
    """Whether a session of the caller's own user was written by others alone.

    The caller does not go on with it: `lifecycle.bootstrap` begins another one under its key.
    """
    is_own = bool(caller.user_id) and caller.user_id == session.user_id
    return is_own and bool(session.writers) and USER not in session.writers


def is_of_others(session: Session, caller: Caller) -> bool:
    """Whether anybody else may have written a session without a user."""
    if not session.writers:
        return session.last_seq > 0
    return bool({*session.writers} - caller.own_names)


def refuse_other(session: Session, caller: Caller) -> None:
    """Refuse to write into a session in which a user's own keys write."""
    if USER in session.writers and voice_of(session, caller) != USER:
        raise OtherWriter


def lock(session: Session, caller: Caller) -> Session:
    """Lock a session that the caller changes, or refuse; readers claim nothing."""
    locked = lock_session(session)
    refuse_other(locked, caller)
    return locked


def add_writer(session: Session, caller: Caller) -> None:
    """Note who writes in a locked session, which the caller of this function saves."""
    voice = voice_of(session, caller)
    if voice not in session.writers and len(session.writers) < MAX_WRITERS:
        session.writers = [*session.writers, voice]
