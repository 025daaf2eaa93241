"""Create, update, delete and restore a project, each with its audit row."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pydantic
from django.db import IntegrityError, transaction

from audit.trail import record
from common import errors, unknown_fields
from common.caller import Caller, Role
from common.db import write
from common.text import storable_json
from projects import project_lookup, search_language, secret_policy
from projects.errors import GraceOver, ProjectExists
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
    """Create a project; a person who creates a project owns it."""
    require_may_create(caller)
    refuse_id_as_name(fields["name"])
    owner, _ = Organization.objects.get_or_create(slug=organization)
    project = Project(organization=owner, **fields)
    project.settings = merge_settings({}, settings or {})
    _save(project, force_insert=True)
    if caller.account_id:
        Membership.objects.create(
            project=project, account_id=caller.account_id, role=Role.OWNER
        )
    record_event(caller, "project.created", project, after=audit_state(project))
    return project


def require_may_create(caller: Caller) -> None:
    caller.refuse_bound(action="create a project")
    if caller.account_id or (caller.everywhere or 0) >= Role.WRITER:
        return
    raise errors.Forbidden(
        "Only a signed-in person, or a key for every project, can create projects; "
        "manage.py create_key --role writer creates such a key."
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
    """Change the given fields; merge `settings` into the stored ones.

    If the search language is given again unchanged, a reindex job that ended too early is
    started again.
    """
    caller.require_administrator(
        Role.OWNER, project.pk, action="change a project or its settings"
    )
    project = lock_project(project, version)
    before, language = audit_state(project), project.options.search.language
    if "name" in fields:
        refuse_id_as_name(fields["name"])
    for name in FIELDS:
        setattr(project, name, fields.get(name, getattr(project, name)))
    if settings is not None:
        project.settings = merge_settings(project.settings, settings)
    has_language = "language" in ((settings or {}).get("search") or {})
    restarts = has_language and search_language.is_reindex_unfinished(project)
    if audit_state(project) == before and not restarts:
        return project
    project.version += 1
    _save(project, update_fields=[*FIELDS, "settings", "version", "updated_at"])
    if restarts or project.options.search.language != language:
        search_language.start_reindex(project)
    record_event(
        caller, "project.changed", project, before=before, after=audit_state(project)
    )
    return project


@write
def delete(project: Project, caller: Caller) -> Project:
    """Hide a project now; a job deletes its rows after the grace period.

    The grace period of a project that is already deleted does not change.
    """
    caller.require_administrator(Role.OWNER, project.pk, action="delete a project")
    project = lock_project(project)
    if project.delete_after:
        return project
    project.hide()
    project.save(update_fields=["delete_after", "updated_at"])
    until = project.delete_after.isoformat() if project.delete_after else ""
    record_event(caller, "project.deleted", project, delete_after=until)
    return project


@write
def restore(project: Project, caller: Caller) -> Project:
    caller.require_administrator(Role.OWNER, project.pk, action="restore a project")
    project = lock_project(project)
    if project.is_past_grace:
        raise GraceOver
    project.delete_after = None
    project.save(update_fields=["delete_after", "updated_at"])
    record_event(caller, "project.restored", project)
    return project


def lock_project(project: Project, version: int | None = None) -> Project:
    """Lock the project's row; refuse if the row does not have the given version."""
    row = (
        Project.objects.select_for_update(no_key=True, of=("self",))
        .select_related("organization")
        .filter(pk=project.pk)
        .first()
    )
    if row is None:
        raise errors.NotFound
    if version is not None and version != row.version:
        raise errors.StaleVersion(current_version=row.version)
    return row


def merge_settings(
    old: Mapping[str, Any], changes: Mapping[str, Any]
) -> dict[str, Any]:
    """Merge settings as in RFC 7396, where null resets to the default; refuse bad values."""
    new = _merge_patch(old, changes)
    refuse_unstorable(new, "settings")
    new = secret_policy.mask_settings(new)
    try:
        ProjectOptions.model_validate(new)
    except pydantic.ValidationError as error:
        raise unknown_fields.refusal_of(error, ProjectOptions, "settings") from None
    return new


def refuse_unstorable(settings: Mapping[str, Any], name: str) -> None:
    """Refuse text that PostgreSQL cannot store; the API has replaced such text before."""
    path = storable_json.find_unstorable(dict(settings))
    if path is not None:
        message = "It contains a NUL byte (U+0000) or a lone surrogate; remove it."
        raise errors.Invalid(errors={f"{name}.{path}": [message]})


def _merge_patch(old: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    new = dict(old)
    for name, value in changes.items():
        if value is None:
            new.pop(name, None)
        elif isinstance(value, Mapping):
            inner = new.get(name)
            new[name] = _merge_patch(inner if isinstance(inner, Mapping) else {}, value)
        else:
            new[name] = value
    return new


def refuse_id_as_name(name: str) -> None:
    if project_lookup.parse_id(name):
        raise errors.Invalid(errors={"name": ["A name must not look like an id."]})


def audit_state(project: Project) -> dict[str, Any]:
    return {name: getattr(project, name) for name in (*FIELDS, "settings")}


def _save(project: Project, **how: Any) -> None:
    try:
        with transaction.atomic():
            project.save(**how)
    except IntegrityError as error:
        if "name" in str(error):
            raise ProjectExists from error
        raise


def record_event(caller: Caller, verb: str, project: Project, **more: Any) -> None:
    record(
        caller,
        verb,
        project_id=project.pk,
        object_type="project",
        object_id=project.pk,
        **more,
    )
