"""The caller who sent a finished task."""

from __future__ import annotations

from access.restored_caller import restore_caller
from ace.models import AceRun
from common.caller import Caller


def caller_of(run: AceRun) -> Caller:
    """Return a caller who continues the run as its sender, with what the sender may."""
    return restore_caller(
        run.project_id,
        name=run.actor,
        key_id=run.key_id,
        account_id=run.account_id,
        agent_id=run.agent_id,
        is_attested=run.is_attested,
    )
