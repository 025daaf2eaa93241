"""The caller with whose rights a run goes on in a job or after a confirmation."""

from __future__ import annotations

from access import restored_caller
from access.restored_caller import SenderRightsLost, require_rights
from agents.models import AgentRun
from common.caller import Caller, Role


def caller_of(run: AgentRun) -> Caller:
    """Return a caller who continues the run as its sender, with what the sender may."""
    return restored_caller.caller_of(run, is_as_agent=False)


def require_sender(run: AgentRun, caller: Caller) -> None:
    """Refuse a run whose sender may no longer begin it: it waited for a worker or a person."""
    require_rights(caller, Role.WRITER, run.project_id)
    if caller.user_id not in ("", run.user_id):
        raise SenderRightsLost("The key is bound to another user by now.")
