"""Issue, rotate and revoke API keys, each with its audit row."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.contrib.auth.base_user import AbstractBaseUser
from django.utils import timezone

from access.models import ApiKey
from audit.trail import record
from common import errors
from common.caller import SYSTEM, Caller, Role
from common.db import write
from projects.models import Project

DEFAULT_OVERLAP = timedelta(hours=24)


@dataclass(frozen=True)
class IssuedKey:
    """A new key and its secret, which is returned once and stored nowhere."""

    key: ApiKey
    secret: str


class KeyRevoked(errors.StateConflict):
    """This key has ended, or is replaced already; issue a new one instead."""

    code = "key_revoked"


@write
def issue(
    *,
    name: str,
    role: Role,
    projects: Iterable[Project] = (),
    agent_id: str = "",
    user_id: str = "",
    expires_at: datetime | None = None,
    may_attest: bool = False,
    acts_for_users: bool = False,
    caller: Caller = SYSTEM,
) -> IssuedKey:
    """Create a key for the given projects, or for every project if none is given."""
    bound = list(projects)
    require_issuer(caller, role=role, projects=bound, everywhere=not bound)
    require_same_bounds(caller, agent_id=agent_id, user_id=user_id)
    if may_attest:
        require_attester(caller)
    if acts_for_users:
        refuse_bound_to_user(user_id)
    if expires_at and expires_at <= timezone.now():
        raise errors.Invalid(errors={"expires_at": ["must be in the future"]})
    key, secret = ApiKey.new(
        name=name,
        role=role,
        everywhere=not bound,
        agent_id=agent_id,
        user_id=user_id,
        expires_at=expires_at,
        may_attest=may_attest,
        acts_for_users=acts_for_users,
        root_line_id=caller.root_line_id,
        account_id=_account_of(caller),
        created_by=caller.name,
    )
    key.save(force_insert=True)
    key.projects.set(bound)
    rights = {"may_attest": may_attest, "acts_for_users": acts_for_users}
    _record(caller, "key.issued", key, role=Role(role).label, **rights)
    return IssuedKey(key, secret)


@write
def rotate(
    key: ApiKey, overlap: timedelta = DEFAULT_OVERLAP, *, caller: Caller = SYSTEM
) -> IssuedKey:
    """Replace a key by a new one with the same rights.

    The old key stays usable for the overlap; one that has ended stays so. The new key has the
    same lifetime as the old key had, and is the same person.
    """
    key = ApiKey.objects.select_for_update(no_key=True).get(pk=key.pk)
    require_control(caller, key)
    if key.may_attest and caller.key_id != key.pk:
        require_attester(caller)
    if key.replaced_by_id:
        raise KeyRevoked
    now = timezone.now()
    lifetime = key.expires_at - key.created_at if key.expires_at else None
    new, secret = ApiKey.new(
        name=key.name,
        role=key.role,
        everywhere=key.everywhere,
        agent_id=key.agent_id,
        user_id=key.user_id,
        expires_at=now + lifetime if lifetime else None,
        may_attest=key.may_attest,
        acts_for_users=key.acts_for_users,
        line_id=key.line_id,
        root_line_id=key.root_line_id,
        account_id=_account_of(caller),
        created_by=caller.name,
    )
    new.save(force_insert=True)
    new.projects.set(key.projects.all())
    key.replaced_by = new
    key.revoked_at = min(filter(None, (key.revoked_at, now + overlap)))
    key.save(update_fields=["replaced_by", "revoked_at"])
    _record(caller, "key.rotated", key, replaced_by=str(new.pk))
    return IssuedKey(new, secret)


@write
def change(key: ApiKey, *, caller: Caller = SYSTEM, **rights: bool) -> ApiKey:
    """Say whether a key `may_attest`, and whether it `acts_for_users`; an owner decides it."""
    key = ApiKey.objects.select_for_update(no_key=True).get(pk=key.pk)
    require_right_to_issue(caller, key)
    if rights.get("may_attest"):
        require_attester(caller)
    if rights.get("acts_for_users"):
        refuse_bound_to_user(key.user_id)
    if key.has_ended:
        raise KeyRevoked
    changed = {name: yes for name, yes in rights.items() if getattr(key, name) != yes}
    for name, yes in changed.items():
        setattr(key, name, yes)
    if changed:
        key.save(update_fields=list(changed))
        _record(caller, "key.changed", key, **changed)
    return key


@write
def revoke(key: ApiKey, *, caller: Caller = SYSTEM) -> ApiKey:
    """Revoke a key now; a second call changes nothing."""
    key = ApiKey.objects.select_for_update(no_key=True).get(pk=key.pk)
    require_control(caller, key)
    now = timezone.now()
    if key.revoked_at and key.revoked_at <= now:
        return key
    key.revoked_at = now
    key.save(update_fields=["revoked_at"])
    _record(caller, "key.revoked", key)
    return key


@write
def revoke_all(account: AbstractBaseUser, *, caller: Caller) -> None:
    """Revoke the keys of a person, each with its audit row."""
    for key in ApiKey.objects.filter(account_id=account.pk).order_by("pk"):
        revoke(key, caller=caller)


def _account_of(caller: Caller) -> int | None:
    """Return the account that gets the secret: the person, or the owner of the key."""
    if caller.account_id or not caller.key_id:
        return caller.account_id
    return ApiKey.objects.values_list("account_id", flat=True).get(pk=caller.key_id)


def require_issuer(
    caller: Caller, *, role: int, projects: Iterable[Project], everywhere: bool
) -> None:
    """Refuse unless the caller owns the key's projects and has at least the key's role."""
    if everywhere and (caller.everywhere or 0) < Role.OWNER:
        raise errors.Forbidden(
            "Only an owner of every project can issue keys for all; name the projects."
        )
    for project in projects:
        caller.require(Role.OWNER, project.pk)
        caller.require(Role(role), project.pk)


def require_same_bounds(caller: Caller, *, agent_id: str, user_id: str) -> None:
    if (caller.agent_id and caller.agent_id != agent_id) or (
        caller.user_id and caller.user_id != user_id
    ):
        raise errors.Forbidden(
            "This key is bound to an agent or a user; "
            "it can only issue keys with the same binding."
        )


def refuse_bound_to_user(user_id: str) -> None:
    if user_id:
        raise errors.Invalid(
            errors={
                "acts_for_users": [
                    "A key that is bound to a user acts for nobody else."
                ]
            }
        )


def require_attester(caller: Caller) -> None:
    """Refuse a caller who may not attest; only a signed-in owner gives what they lack.

    Call `require_issuer` first, which checks that the caller is an owner.
    """
    if not (caller.may_attest or caller.account_id):
        raise errors.Forbidden(
            "This key may not attest, so it cannot let another key attest; "
            "sign in as an owner, or use manage.py create_key --may-attest."
        )


def require_control(caller: Caller, key: ApiKey) -> None:
    """Allow a key to control itself; for another key, require the right to issue that key."""
    if caller.key_id != key.pk:
        require_right_to_issue(caller, key)


def require_right_to_issue(caller: Caller, key: ApiKey) -> None:
    """Refuse unless the caller could issue a key with the rights of this key."""
    require_issuer(
        caller,
        role=key.role,
        projects=key.projects.all(),
        everywhere=key.everywhere,
    )
    require_same_bounds(caller, agent_id=key.agent_id, user_id=key.user_id)


def _record(caller: Caller, verb: str, key: ApiKey, **detail: Any) -> None:
    projects = list(key.projects.values_list("pk", flat=True))
    record(
        caller,
        verb,
        # If a key has only one project, the project's owner sees the key's events in that
        # project.
        project_id=projects[0] if len(projects) == 1 else None,
        object_type="key",
        object_id=key.pk,
        prefix=key.prefix,
        projects=[str(project_id) for project_id in projects],
        **detail,
    )
