"""Record what was done to a session, in the transaction that does it."""

from __future__ import annotations

from typing import Any

from audit import trail
from common.caller import Caller
from conversations.models import AgentMemoryChange, Session

MAX_ACTOR = 200  # characters of an actor's name


def audit(caller: Caller, verb: str, session: Session, **detail: Any) -> None:
    """Add a row about a session to the audit trail."""
    trail.record(
        caller,
        verb,
        project_id=session.project_id,
        object_type="session",
        object_id=session.pk,
        **detail,
    )


def add_change(
    owner: Any, session: Session | None, caller: Caller, **columns: Any
) -> AgentMemoryChange:
    """Add a row to the changelog of the user and the agent that `owner` has.

    `owner` is an agent memory, a session, or anything else with these three ids.
    """
    row: AgentMemoryChange = AgentMemoryChange.objects.create(
        project_id=owner.project_id,
        user_id=owner.user_id,
        agent_id=owner.agent_id,
        session_id=session.pk if session else None,
        session_key=session.key if session else "",
        actor=caller.name[:MAX_ACTOR],
        **columns,
    )
    return row
