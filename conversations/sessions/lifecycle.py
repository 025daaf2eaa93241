"""Make, change, archive and claim sessions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from django.utils import timezone

from common import errors
from common.caller import Caller, Role
from common.db import write
from conversations.models import MAX_KEY, Session
from conversations.sessions import writers
from conversations.sessions.lookup import lock_session, read_id
from conversations.sessions.record import audit
from memories.lifecycle.rescope import move_memories
from memories.scopes import Scope
from projects.models import Project

COMMITS = "commits"  # the channel of the session that keeps a repository's commits


class SessionIdentity(errors.StateConflict):
    """The session belongs to another agent; agent_id and user_id never change."""

    code = "session_identity"


class TooManySessions(errors.StateConflict):
    """The user has as many sessions as the project allows; purge sessions, or raise
    `conversations.sessions_per_user`.
    """

    code = "too_many_sessions"


@dataclass(frozen=True)
class SessionDraft:
    """What a caller says of a session when it makes the session."""

    key: str
    agent_id: str = ""
    user_id: str = ""
    channel: str = ""
    title: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    token_budget: int | None = None
    # Whether agents read and write memory in the session.
    has_memory: bool = True


def resolve_user(user_id: str, caller: Caller) -> str:
    """Return the user of a new session; a bound key writes for its own user only."""
    if caller.user_id and user_id and user_id != caller.user_id:
        raise errors.NotFound("There is no such user.")
    return caller.user_id or user_id


@write
def bootstrap(
    project: Project, draft: SessionDraft, caller: Caller
) -> tuple[Session, bool]:
    """Return the session of a key, and whether it was made now.

    A session that exists is not changed. Refuse if it belongs to another agent, and if the
    key of a new one is the id of another.
    """
    caller.require(Role.WRITER, project.pk)
    if draft.channel == COMMITS:
        raise errors.Invalid(
            errors={
                "channel": ["Commits are sent to /commits; choose another channel."]
            }
        )
    user_id = resolve_user(draft.user_id, caller)
    agent_id = caller.agent_id_for(draft.agent_id)
    existing = _of_key(project, draft.key, user_id)
    if existing and writers.is_foreign(existing, caller):
        _set_aside(existing, caller)
        existing = None
    if existing is None:
        _refuse_id(project, draft.key)
        _refuse_over_quota(project, user_id)
        return create(project, draft, user_id, agent_id, caller), True
    if existing.agent_id != agent_id:
        raise SessionIdentity
    return existing, False


def _of_key(project: Project, key: str, user_id: str) -> Session | None:
    rows = Session.objects.filter(project=project, key=key, user_id=user_id)
    return rows.first()


def _set_aside(session: Session, caller: Caller) -> None:
    """Give a session that others wrote in the user's name another key.

    The memories of its scope stay: the user's own may be among them.
    """
    locked = lock_session(session)
    mark = f" {locked.pk.hex[:12]}"
    locked.key = f"{locked.key[: MAX_KEY - len(mark)]}{mark}"
    locked.save(update_fields=["key"])
    audit(caller, "session.set_aside", locked)


def create(
    project: Project, draft: SessionDraft, user_id: str, agent_id: str, caller: Caller
) -> Session:
    """Store a new session; its key must be free."""
    session = Session(
        project=project,
        key=draft.key,
        agent_id=agent_id,
        user_id=user_id,
        channel=draft.channel,
        title=draft.title,
        metadata=dict(draft.metadata),
        token_budget=draft.token_budget,
        has_memory=draft.has_memory,
    )
    writers.add_writer(session, caller)
    session.save(force_insert=True)
    audit(caller, "session.create", session)
    return session


def _refuse_id(project: Project, key: str) -> None:
    """Refuse the id of a session as a key: a path with it would name the wrong session."""
    pk = read_id(key)
    if pk and Session.objects.filter(project=project, pk=pk).exists():
        raise errors.Invalid(
            errors={"key": ["This is the id of a session; choose another key."]}
        )


def _refuse_over_quota(project: Project, user_id: str) -> None:
    most = project.options.conversations.sessions_per_user
    rows = Session.objects.filter(project=project, user_id=user_id)
    if rows[most - 1 : most].exists():
        raise TooManySessions(
            f"The user has {most:,} sessions, as many as the project allows. Purge "
            "sessions, or have an owner raise conversations.sessions_per_user."
        )


@write
def update_session(
    session: Session, changes: Mapping[str, Any], caller: Caller
) -> Session:
    """Change title, metadata, token budget, memory, or whether the session is archived.

    Metadata are merged; a key whose value is null is removed.
    """
    locked = writers.lock(session, caller)
    for name in ("title", "token_budget", "has_memory"):
        if name in changes:
            setattr(locked, name, changes[name])
    if "metadata" in changes:
        merged = {**locked.metadata, **changes["metadata"]}
        locked.metadata = {k: value for k, value in merged.items() if value is not None}
    if "archived" in changes:
        locked.archived_at = _archive_time(locked, changes["archived"])
    locked.save()
    audit(caller, "session.update", locked, fields=sorted(changes))
    return locked


def _archive_time(session: Session, is_archived: bool) -> Any:
    if not is_archived:
        return None
    return session.archived_at or timezone.now()


@write
def claim(session: Session, user_id: str, caller: Caller) -> Session:
    """Give an anonymous session to a user, with the memories of the session's scope.

    A key that acts for users may do so, and a curator; the user's own key only for a session
    that nobody else wrote to.
    """
    is_own = caller.user_id == user_id
    is_trusted = not caller.user_id and caller.speaks_for(user_id, session.project_id)
    if not (is_own or is_trusted):
        raise errors.Forbidden(
            "Only a curator, a key that acts for users, or a key that is bound to this user "
            "may claim a session."
        )
    locked = lock_session(session)
    if locked.channel == COMMITS:
        raise SessionIdentity(
            "The commits of a project's repository belong to no user."
        )
    if is_own and not locked.user_id and writers.is_of_others(locked, caller):
        raise writers.OtherWriter(
            "Another person's key wrote to this session; a curator, or a key that acts for "
            "users, can give it to you."
        )
    if locked.user_id == user_id:
        return locked
    if locked.user_id:
        raise SessionIdentity("The session belongs to a user already.")
    if _of_key(locked.project, locked.key, user_id):
        raise SessionIdentity(
            f"The user {user_id} has a session with the key {locked.key!r} already."
        )
    _refuse_over_quota(locked.project, user_id)
    locked.user_id, locked.writers = user_id, [writers.USER]
    locked.snapshot_version = locked.snapshot_at = None
    locked.save(update_fields=["user_id", "writers", "snapshot_version", "snapshot_at"])
    moved = move_memories(
        locked.project,
        Scope("session", locked.key),
        Scope("session", locked.key, user=user_id),
    )
    audit(caller, "session.claim", locked, user_id=user_id, memories=moved)
    return locked
