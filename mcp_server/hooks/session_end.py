"""What is noted of a session at its end."""

from __future__ import annotations

from django.utils import timezone

from common.caller import Caller, Role
from conversations.sessions import lifecycle, lookup
from mcp_server.hooks.hook_event import HookEvent
from projects.models import Project

ENDED_AT = "ended_at"  # the key in the metadata of a session


def note(project: Project, event: HookEvent, caller: Caller) -> None:
    """Note when a session ended. Its transcript comes by its own route and is learned there."""
    if not (event.session and caller.may(Role.WRITER, project.pk)):
        return
    # The session that `session-start` opened: two users may have the same key.
    session = lookup.look_up(project, event.session, caller, user_id=caller.user_id)
    if session is None:
        return
    ended_at = timezone.now().isoformat()
    lifecycle.update_session(session, {"metadata": {ENDED_AT: ended_at}}, caller)
