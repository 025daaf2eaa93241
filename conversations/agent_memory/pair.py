"""The agent and the user that an agent memory belongs to."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import Any

from common import errors
from common.caller import Caller
from conversations.models import AgentMemory, Session
from conversations.sessions.lifecycle import SessionIdentity
from projects.models import Project


@dataclass(frozen=True)
class MemoryPair:
    """A project, a user (empty for the anonymous one) and an agent."""

    project: Project
    user_id: str
    agent_id: str

    @classmethod
    def of_session(cls, session: Session) -> MemoryPair:
        return cls(session.project, session.user_id, session.agent_id)

    @property
    def project_id(self) -> uuid.UUID:
        return self.project.pk

    def find(self) -> AgentMemory:
        """Return the stored row, or an unsaved empty one."""
        rows = AgentMemory.objects.filter(**self.columns)
        return rows.first() or AgentMemory(**self.columns)

    def lock(self) -> AgentMemory:
        """Create the row if there is none, and lock it."""
        AgentMemory.objects.get_or_create(**self.columns)
        rows = AgentMemory.objects.select_for_update(no_key=True)
        locked: AgentMemory = rows.get(**self.columns)
        return locked

    @property
    def columns(self) -> dict[str, Any]:
        return {
            "project": self.project,
            "user_id": self.user_id,
            "agent_id": self.agent_id,
        }


def resolve_pair(
    project: Project,
    caller: Caller,
    *,
    user_id: str | None = None,
    agent_id: str = "",
    session: Session | None = None,
) -> MemoryPair:
    """Return the pair that a request names; a session names its own.

    A key that is bound to a user or an agent gets 404 for every other one. Without a name,
    it is the bound one, or else the anonymous user.
    """
    if session is not None:
        named = (user_id is None or user_id == session.user_id) and (
            not agent_id or agent_id == session.agent_id
        )
        if not named:
            raise SessionIdentity("The session belongs to another user or agent.")
        return MemoryPair.of_session(session)
    if caller.user_id and user_id is not None and user_id != caller.user_id:
        raise errors.NotFound("There is no such user.")
    if caller.agent_id and agent_id and agent_id != caller.agent_id:
        raise errors.NotFound("There is no such agent.")
    agent = agent_id or caller.agent_id
    if not agent:
        raise errors.Invalid(
            errors={"agent_id": ["Name the agent, or the session (`session`)."]}
        )
    return MemoryPair(project, caller.user_id or user_id or "", agent)
