"""The caller with whose rights a run's lessons are stored."""

from __future__ import annotations

from access.restored_caller import restore_caller
from agents.models import AgentRun
from common.caller import Caller


def caller_of(run: AgentRun) -> Caller:
    """Return a caller who stores what a run taught, with what its sender may."""
    return restore_caller(
        run.project_id,
        name=run.actor,
        key_id=run.key_id,
        account_id=run.account_id,
        agent_id=run.agent_id,
        is_attested=run.is_attested,
    )
