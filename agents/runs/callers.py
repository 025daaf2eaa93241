"""The caller with whose rights a run goes on in a job or after a confirmation."""

from __future__ import annotations

from access.restored_caller import restore_caller
from agents.models import AgentRun
from common.caller import Caller


def caller_of(run: AgentRun) -> Caller:
    """Return a caller who continues the run as its sender, with what the sender may."""
    return restore_caller(
        run.project_id,
        name=run.actor,
        key_id=run.key_id,
        account_id=run.account_id,
        agent_id=None,
        is_attested=run.is_attested,
    )
