"""Turn the memory of a user or of a conversation on and off."""

from __future__ import annotations

from collections.abc import Iterable

from audit import trail
from common import errors
from common.caller import Caller, Role
from common.db import write
from conversations import sources
from conversations.models import MemorySwitch, Session
from projects.models import Project


class MemoryOff(errors.StateConflict):
    """Memory is off for this user or conversation; nothing is read and nothing is stored."""

    code = "memory_off"


def is_memory_on(
    project: Project, user_id: str, session: Session | None = None
) -> bool:
    """Whether agents may read and write memory for a user, and in a conversation.

    An empty user is the anonymous one. The rows are read anew, so that a switch holds for
    work that began before it.
    """
    users = {user_id} if session is None else {user_id, session.user_id}
    off = MemorySwitch.objects.filter(
        project=project, user_id__in=users, is_enabled=False
    )
    if off.exists():
        return False
    if session is None:
        return True
    return not Session.objects.filter(pk=session.pk, has_memory=False).exists()


def users_without_memory(project: Project, users: Iterable[str]) -> set[str]:
    """Return which of these users have their memory off."""
    asked = {user for user in users if user}
    if not asked:
        return set()
    off = MemorySwitch.objects.filter(
        project=project, user_id__in=asked, is_enabled=False
    )
    return set(off.values_list("user_id", flat=True))


def require_memory(
    project: Project, user_id: str, session: Session | None = None
) -> None:
    """Refuse with 409 `memory_off` if the memory of the user or conversation is off."""
    if is_memory_on(project, user_id, session):
        return
    who = f"the user {user_id!r}" if user_id else "the anonymous user"
    place = f" or the conversation {session.key!r}" if session else ""
    raise MemoryOff(
        f"Memory is off for {who}{place}, so nothing is stored. To turn it on, send "
        '`{"enabled": true}` to PATCH /users/{user_id}/memory or /conversations/{id}.'
    )


@write
def set_memory(
    project: Project, user_id: str, enabled: bool, caller: Caller
) -> MemorySwitch:
    """Turn the memory of a user on or off, and audit a change.

    A key that is bound to another user gets 404, another that does not speak for the user
    403; that of the anonymous user is everybody's, and a curator decides. What is stored
    stays; a purge removes it.
    """
    caller.require(Role.WRITER if user_id else Role.CURATOR, project.pk)
    if caller.user_id and caller.user_id != user_id:
        raise errors.NotFound("There is no such user.")
    sources.require_voice(user_id, project.pk, caller)
    switch, is_new = MemorySwitch.objects.select_for_update().get_or_create(
        project=project, user_id=user_id, defaults={"is_enabled": enabled}
    )
    was_enabled = True if is_new else switch.is_enabled
    if was_enabled != enabled:
        switch.is_enabled = enabled
        switch.save(update_fields=["is_enabled", "updated_at"])
        trail.record(
            caller,
            "memory_switch.update",
            project_id=project.pk,
            object_type="memory_switch",
            object_id=switch.pk,
            user_id=user_id,
            enabled=enabled,
        )
    result: MemorySwitch = switch
    return result
