"""Every change of a project, its settings and its members, each with its audit row."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pydantic
from django.contrib.auth import get_user_model
from django.contrib.auth.base_user import AbstractBaseUser
from django.db import IntegrityError, transaction

from audit.recording import record
from common import errors
from common.caller import Caller, Role
from common.writing import write
from projects import finding, search_language
from projects.errors import GraceOver, NoSuchAccount, ProjectExists
from projects.models import Membership, Organization, Project
from projects.options import ProjectOptions

DEFAULT_ORGANIZATION = "default"
FIELDS = ("name", "description", "repository_url", "current_branch")


@write
def create(
    fields: Mapping[str, Any],
    caller: Caller,
    *,
    organization: str = DEFAULT_ORGANIZATION,
    settings: Mapping[str, Any] | None = None,
) -> Project:
    """Make a project; a person who makes one owns it."""
    require_creator(caller)
    refuse_id_as_name(fields["name"])
    group, _ = Organization.objects.get_or_create(slug=organization)
    project = Project(organization=group, **fields)
    project.settings = merged({}, settings or {})
    _save(project, force_insert=True)
    if caller.account_id:
        Membership.objects.create(
            project=project, account_id=caller.account_id, role=Role.OWNER
        )
    _record(caller, "project.created", project, after=state(project))
    return project


def require_creator(caller: Caller) -> None:
    if caller.account_id or (caller.everywhere or 0) >= Role.WRITER:
        return
    raise errors.Forbidden(
        "Only a signed-in person or a key for every project creates projects; "
        "make such a key with manage.py create_key --role writer."
    )


@write
def update(
    project: Project,
    fields: Mapping[str, Any],
    caller: Caller,
    *,
    settings: Mapping[str, Any] | None = None,
    version: int | None = None,
) -> Project:
    """Change what is given; `settings` are merged into those there are.

    The language said again starts the job anew that was ended before it was done.
    """
    caller.require(Role.OWNER, project.pk)
    project = hold(project, version)
    before, language = state(project), project.options.search.language
    if "name" in fields:
        refuse_id_as_name(fields["name"])
    for name in FIELDS:
        setattr(project, name, fields.get(name, getattr(project, name)))
    if settings is not None:
        project.settings = merged(project.settings, settings)
    is_said = "language" in ((settings or {}).get("search") or {})
    is_again = is_said and search_language.is_left_undone(project)
    if state(project) == before and not is_again:
        return project
    project.version += 1
    _save(project, update_fields=[*FIELDS, "settings", "version", "updated_at"])
    if is_again or project.options.search.language != language:
        search_language.change(project)
    _record(caller, "project.changed", project, before=before, after=state(project))
    return project


@write
def delete(project: Project, caller: Caller) -> Project:
    """Hide a project at once; a job deletes it when its grace is over.

    The grace of one that is deleted already stays as it is.
    """
    caller.require(Role.OWNER, project.pk)
    project = hold(project)
    if project.delete_after:
        return project
    project.hide()
    project.save(update_fields=["delete_after", "updated_at"])
    until = project.delete_after.isoformat() if project.delete_after else ""
    _record(caller, "project.deleted", project, delete_after=until)
    return project


@write
def restore(project: Project, caller: Caller) -> Project:
    caller.require(Role.OWNER, project.pk)
    project = hold(project)
    if project.is_over:
        raise GraceOver
    project.delete_after = None
    project.save(update_fields=["delete_after", "updated_at"])
    _record(caller, "project.restored", project)
    return project


@write
def set_member(
    project: Project, username: str, role: Role, caller: Caller
) -> Membership:
    """Give a person a role in the project, or another one."""
    caller.require(Role.OWNER, project.pk)
    account = get_user_model().objects.filter(username=username, is_active=True).first()
    if account is None:
        raise NoSuchAccount
    member, _ = Membership.objects.update_or_create(
        project=project, account=account, defaults={"role": role}
    )
    label = Role(role).label
    _record(caller, "member.set", project, username=username, role=label)
    return member


@write
def remove_member(project: Project, username: str, caller: Caller) -> None:
    caller.require(Role.OWNER, project.pk)
    rows = Membership.objects.filter(project=project, account__username=username)
    if not rows.delete()[0]:
        raise errors.NotFound("Nobody of this username is a member of the project.")
    _record(caller, "member.removed", project, username=username)


@write
def remove_everywhere(account: AbstractBaseUser, caller: Caller) -> None:
    """Remove a person from every project, each with its audit row."""
    members = Membership.objects.filter(account_id=account.pk)
    for member in members.select_related("project"):
        remove_member(member.project, account.get_username(), caller)


def hold(project: Project, version: int | None = None) -> Project:
    """Lock the row, so that two changes of it follow one another."""
    held = (
        Project.objects.select_for_update(no_key=True, of=("self",))
        .select_related("organization")
        .filter(pk=project.pk)
        .first()
    )
    if held is None:
        raise errors.NotFound
    if version is not None and version != held.version:
        raise errors.StaleVersion(current_version=held.version)
    return held


def merged(old: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Merge as RFC 7396: a null returns a setting to its default. Refuses bad values."""
    new = _merge(old, changes)
    try:
        ProjectOptions.model_validate(new)
    except pydantic.ValidationError as error:
        raise errors.Invalid(errors=_option_errors(error)) from None
    return new


def _merge(old: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    new = dict(old)
    for name, value in changes.items():
        if value is None:
            new.pop(name, None)
        elif isinstance(value, Mapping):
            inner = new.get(name)
            new[name] = _merge(inner if isinstance(inner, Mapping) else {}, value)
        else:
            new[name] = value
    return new


def _option_errors(error: pydantic.ValidationError) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for one in error.errors(include_url=False, include_input=False):
        path = ".".join(["settings", *map(str, one["loc"])])
        found.setdefault(path, []).append(one["msg"])
    return found


def refuse_id_as_name(name: str) -> None:
    if finding.as_id(name):
        raise errors.Invalid(
            errors={"name": ["A name that reads as an id would stand for another row."]}
        )


def state(project: Project) -> dict[str, Any]:
    return {name: getattr(project, name) for name in (*FIELDS, "settings")}


def _save(project: Project, **how: Any) -> None:
    try:
        with transaction.atomic():
            project.save(**how)
    except IntegrityError as error:
        if "name" in str(error):
            raise ProjectExists from error
        raise


def _record(caller: Caller, verb: str, project: Project, **more: Any) -> None:
    record(
        caller,
        verb,
        project_id=project.pk,
        object_type="project",
        object_id=project.pk,
        **more,
    )
