"""What the service knows about one user: agent memories, sessions, and memories."""

from __future__ import annotations

from dataclasses import dataclass

from common import errors
from common.caller import Caller, Role
from conversations.invocations.switch import is_memory_on
from conversations.models import AgentMemory, AgentMemoryChange, Message, Session
from memories.models import Memory
from memories.queries import OWNER, MemoryQuerySet
from projects.models import Project

MAX_ROWS = 1_000  # of the newest sessions, memories and agent memories


@dataclass(frozen=True)
class PersonMemory:
    """The newest rows about a user, and how many there are; `counts` has the full numbers.

    The anonymous user has an empty id, and no memories.
    """

    user_id: str
    is_memory_on: bool
    agent_memories: list[AgentMemory]
    sessions: list[Session]
    memories: list[Memory]
    counts: dict[str, int]


def describe_person(
    project: Project, user_id: str, caller: Caller, *, most: int = MAX_ROWS
) -> PersonMemory:
    """Return what the caller may see of a user; nothing, with zeros, if there is nothing.

    A key that is bound to another user gets 404, whether or not the user exists.
    """
    caller.require(Role.VIEWER, project.pk)
    if caller.user_id and caller.user_id != user_id:
        raise errors.NotFound("There is no such user.")
    notes = AgentMemory.objects.visible_to(caller, project).filter(user_id=user_id)
    sessions = Session.objects.visible_to(caller, project).filter(user_id=user_id)
    changes = AgentMemoryChange.objects.visible_to(caller, project)
    messages = Message.objects.visible_to(caller, project).visible()
    memories = _memories_of(project, user_id, caller)
    return PersonMemory(
        user_id=user_id,
        is_memory_on=is_memory_on(project, user_id),
        agent_memories=list(notes.order_by("agent_id")[:most]),
        sessions=list(sessions.order_by("-last_active", "-id")[:most]),
        memories=list(memories.order_by("-created_at", "-id")[:most]),
        counts={
            "agent_memories": notes.count(),
            "changes": changes.filter(user_id=user_id).count(),
            "sessions": sessions.count(),
            "messages": messages.filter(session__in=sessions.values("pk")).count(),
            "memories": memories.count(),
        },
    )


def _memories_of(project: Project, user_id: str, caller: Caller) -> MemoryQuerySet:
    """Return the current memories that belong to a user, by the quotas' definition."""
    rows = Memory.objects.visible_to(caller, project).current().in_full()
    owned: MemoryQuerySet = rows.alias(owner=OWNER).filter(owner=user_id)
    return owned if user_id else owned.none()
