"""Freeze the version of an agent memory that a session sees."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.utils import timezone

from common.caller import Caller, Role
from common.db import write
from conversations.agent_memory.pair import MemoryPair
from conversations.models import Session
from conversations.sessions import writers
from conversations.sessions.lookup import lock_session


@dataclass(frozen=True)
class SessionSnapshot:
    """The version that a session sees, and when it was frozen or advanced (seed 002)."""

    session: str
    user_id: str
    agent_id: str
    version: int
    updated_at: datetime


@write
def get_or_freeze(session: Session, caller: Caller) -> SessionSnapshot:
    """Return the snapshot of a session; the first use freezes the present version."""
    caller.require(Role.VIEWER, session.project_id)
    if session.snapshot_version is None:
        session = _set(session, only_new=True)
    return _snapshot_of(session)


@write
def advance(session: Session, caller: Caller) -> SessionSnapshot:
    """Let a session see the present version."""
    caller.require(Role.WRITER, session.project_id)
    locked = writers.lock(session, caller)
    return _snapshot_of(_set(locked, only_new=False))


def _set(session: Session, *, only_new: bool) -> Session:
    locked = lock_session(session)
    if locked.snapshot_version is None or not only_new:
        locked.snapshot_version = MemoryPair.of_session(locked).find().version
        locked.snapshot_at = timezone.now()
        locked.save(update_fields=["snapshot_version", "snapshot_at"])
    return locked


def _snapshot_of(session: Session) -> SessionSnapshot:
    assert session.snapshot_at is not None
    return SessionSnapshot(
        session=session.key,
        user_id=session.user_id,
        agent_id=session.agent_id,
        version=session.snapshot_version or 0,
        updated_at=session.snapshot_at,
    )
