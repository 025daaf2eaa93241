"""The caller with whose rights a run's lessons are stored."""

from __future__ import annotations

from access.models import ApiKey
from agents.models import AgentRun
from common.caller import Caller, Role


def caller_of(run: AgentRun) -> Caller:
    """Return a caller who stores what a run taught, with what its sender may.

    A signed-in person, or a key that is gone, continues as a writer.
    """
    key = ApiKey.objects.filter(pk=run.key_id).first() if run.key_id else None
    return Caller(
        name=run.actor,
        roles={run.project_id: Role(key.role) if key else Role.WRITER},
        key_id=run.key_id,
        line_id=key.line_id if key else run.key_id,
        root_line_id=key.root_line_id if key else run.key_id,
        key_account_id=key.account_id if key else None,
        agent_id=run.agent_id,
        user_id=key.user_id if key else "",
    )
