"""Restore the caller of earlier work, so that a job goes on with the sender's rights."""

from __future__ import annotations

import uuid

from access.models import ApiKey
from common.caller import Caller, Role


def restore_caller(
    project_id: uuid.UUID,
    *,
    name: str,
    key_id: uuid.UUID | None,
    account_id: int | None,
    agent_id: str | None,
    is_attested: bool,
) -> Caller:
    """Return a caller who continues work as its sender, with what the sender may.

    A signed-in person, or a key that is gone, continues as a writer. A key that may no
    longer attest does not attest what it sent before. An `agent_id` of None is the one to
    which the key is bound, if any.
    """
    key = ApiKey.objects.filter(pk=key_id).first() if key_id else None
    if agent_id is None:
        agent_id = key.agent_id if key else ""
    is_believed = key is None or key.may_attest
    return Caller(
        name=name,
        roles={project_id: Role(key.role) if key else Role.WRITER},
        key_id=key_id,
        line_id=key.line_id if key else key_id,
        root_line_id=key.root_line_id if key else key_id,
        key_account_id=key.account_id if key else None,
        account_id=account_id,
        may_attest=is_attested and is_believed,
        agent_id=agent_id,
        user_id=key.user_id if key else "",
    )
