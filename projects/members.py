"""Give people roles in projects and take them away, each with its audit row."""

from __future__ import annotations

from django.contrib.auth import get_user_model
from django.contrib.auth.base_user import AbstractBaseUser

from common import errors
from common.caller import Caller, Role
from common.db import write
from projects.errors import NoSuchAccount
from projects.lifecycle import record_event
from projects.models import Membership, Project


@write
def set_role(project: Project, username: str, role: Role, caller: Caller) -> Membership:
    """Give a person a role in the project, or change it."""
    caller.require_administrator(
        Role.OWNER, project.pk, action="change the members of a project"
    )
    account = get_user_model().objects.filter(username=username, is_active=True).first()
    if account is None:
        raise NoSuchAccount
    member, _ = Membership.objects.update_or_create(
        project=project, account=account, defaults={"role": role}
    )
    label = Role(role).label
    record_event(caller, "member.set", project, username=username, role=label)
    return member


@write
def remove(project: Project, username: str, caller: Caller) -> None:
    caller.require_administrator(
        Role.OWNER, project.pk, action="change the members of a project"
    )
    rows = Membership.objects.filter(project=project, account__username=username)
    if not rows.delete()[0]:
        raise errors.NotFound("The project has no member with this username.")
    record_event(caller, "member.removed", project, username=username)


@write
def remove_everywhere(account: AbstractBaseUser, caller: Caller) -> None:
    """Remove a person from every project, each with its audit row."""
    members = Membership.objects.filter(account_id=account.pk)
    for member in members.select_related("project"):
        remove(member.project, account.get_username(), caller)
