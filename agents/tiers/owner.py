"""Whose fact or episode it is: the named user's, or everybody's in the workspace."""

from __future__ import annotations

from common.caller import Caller
from conversations.invocations.switch import require_memory
from conversations.sessions.lifecycle import resolve_user
from conversations.sessions.lookup import look_up
from memories import scopes
from memories.scopes import Scope
from projects.models import Project


def scope_to_write(
    project: Project, user: str, source: str, caller: Caller, scope: Scope | None = None
) -> tuple[Scope, str]:
    """Return the scope of a new row and its user, for a caller who may write there.

    A user's row is in the scope of that user, another one in the workspace, unless `scope`
    says otherwise. A bound key writes for its own user. Refuse with NotFound for another
    user, and with MemoryOff if the memory of the user, or of the conversation `source`, is
    off.
    """
    user_id = resolve_user(user, caller)
    asked = scope.to_dict() if scope else _scope_value(user_id)
    resolved = scopes.resolve(asked, project, caller)
    owner = resolved.owner or user_id
    session = look_up(project, source, caller, user_id=user_id) if source else None
    require_memory(project, owner, session)
    return resolved, owner


def _scope_value(user_id: str) -> dict[str, str] | None:
    return {"kind": "user", "user_id": user_id} if user_id else None
