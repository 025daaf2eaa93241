"""Restore the caller of earlier work, so that a job goes on with the sender's rights."""

from __future__ import annotations

import uuid
from typing import Protocol

from django.contrib.auth import get_user_model
from django.db.models import Q

from access.models import ApiKey
from common.caller import Caller, Role
from projects.models import Membership


class SenderRightsLost(Exception):
    """The sender of earlier work may no longer do it; the message says why."""


class SentWork(Protocol):
    """A row of work that keeps who sent it: a finished task, a run of the agent."""

    project_id: uuid.UUID
    actor: str
    key_id: uuid.UUID | None
    account_id: int | None
    agent_id: str
    is_attested: bool


def caller_of(work: SentWork, *, is_as_agent: bool = True) -> Caller:
    """Return a caller who continues work as its sender, with what the sender may.

    A signed-in person, or a key that is gone, continues as a writer. A key that may no
    longer attest does not attest what it sent before. The caller is the agent of the work,
    or, if `is_as_agent` is False, the one to which the key is bound, if any.
    """
    key = ApiKey.objects.filter(pk=work.key_id).first() if work.key_id else None
    is_believed = key is None or key.may_attest
    agent_of_key = key.agent_id if key else ""
    return Caller(
        name=work.actor,
        roles={work.project_id: Role(key.role) if key else Role.WRITER},
        key_id=work.key_id,
        line_id=key.line_id if key else work.key_id,
        root_line_id=key.root_line_id if key else work.key_id,
        key_account_id=key.account_id if key else None,
        account_id=work.account_id,
        may_attest=work.is_attested and is_believed,
        acts_for_users=_acts_for_users(work, key),
        agent_id=work.agent_id if is_as_agent else agent_of_key,
        user_id=key.user_id if key else "",
    )


def _acts_for_users(work: SentWork, key: ApiKey | None) -> bool:
    """Whether the sender speaks for users: a curator does, and so does an operator."""
    if key:
        return bool(key.acts_for_users)
    if work.account_id:
        return _may_account(work.account_id, Role.CURATOR, work.project_id)
    return work.key_id is None


def require_rights(caller: Caller, role: Role, project_id: uuid.UUID) -> None:
    """Raise SenderRightsLost if the key or the account of earlier work may no longer do it.

    The key may be revoked, expired or gone since, or have another role or other projects.
    An operator, who has neither key nor account, is never refused.
    """
    if caller.key_id:
        may = _may_key(caller.key_id, role, project_id)
    elif caller.account_id:
        may = _may_account(caller.account_id, role, project_id)
    else:
        return
    if not may:
        raise SenderRightsLost(
            "The key or the account that sent this work may no longer do it."
        )


def _may_key(key_id: uuid.UUID, role: Role, project_id: uuid.UUID) -> bool:
    reach = Q(everywhere=True) | Q(projects=project_id)
    rows = ApiKey.objects.usable().filter(reach, pk=key_id, role__gte=role)
    return rows.exists()


def _may_account(account_id: int, role: Role, project_id: uuid.UUID) -> bool:
    account = get_user_model().objects.filter(pk=account_id, is_active=True).first()
    if account is None or account.is_superuser:
        return account is not None
    rows = Membership.objects.filter(account_id=account_id, project_id=project_id)
    return rows.filter(role__gte=role).exists()
