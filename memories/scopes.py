"""Scopes (requirement 000).

A scope tells whom a memory belongs to. The module also decides which caller may name which
scope.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from common import errors
from common.caller import Caller
from common.erasure.redaction import redact_name
from projects.models import Project

# The key field of each kind of scope in the API.
KEY_FIELDS = {
    "session": "session_id",
    "user": "user_id",
    "workspace": "workspace_id",
    "org": "org_id",
    "object": "object_id",
}


@dataclass(frozen=True)
class Scope:
    """A scope: its kind and its opaque key.

    `type` is used for object scopes only. `user` is used for the session of a user only.
    """

    kind: str
    key: str
    type: str = ""
    user: str = ""

    @property
    def hash(self) -> str:
        """Return a hash of fixed width.

        Equal scopes have equal hashes.
        """
        parts = json.dumps([self.kind, self.type, self.key, self.user])
        return hashlib.sha256(parts.encode()).hexdigest()[:32]

    def to_dict(self) -> dict[str, str]:
        """Return the scope in the form that the API writes."""
        scope = {"kind": self.kind, KEY_FIELDS[self.kind]: self.key}
        if self.kind == "object":
            return {**scope, "object_type": self.type}
        return {**scope, "user_id": self.user} if self.user else scope

    @property
    def owner(self) -> str:
        """Return the user of the scope, or an empty string for a shared scope."""
        return self.key if self.kind == "user" else self.user

    @property
    def columns(self) -> dict[str, str]:
        return {
            "scope_kind": self.kind,
            "scope_type": self.type,
            "scope_key": self.key,
            "scope_user": self.user,
            "scope_hash": self.hash,
        }


def resolve(value: Mapping[str, Any] | None, project: Project, caller: Caller) -> Scope:
    """Return the scope that a request names.

    A request that names no scope gets the workspace of the project. A key that is bound to
    a user can only name that user's own scope and sessions. For any other scope, the caller
    gets NotFound.
    """
    if not value:
        return Scope("workspace", str(project.pk))
    kind = value["kind"]
    key = str(value.get(KEY_FIELDS[kind]) or _default_key(kind, project, caller))
    if kind == "org":
        return Scope(kind, _organization_key(key, project))
    if kind == "user" and caller.user_id and key != caller.user_id:
        raise errors.NotFound("There is no such user scope.")
    if kind == "session":
        user = str(value.get("user_id") or caller.user_id)
        if caller.user_id and user != caller.user_id:
            raise errors.NotFound("There is no such session scope.")
        return Scope(kind, key, user=user)
    if kind == "object":
        return Scope(kind, key, type=str(value.get("object_type") or ""))
    return Scope(kind, key)


def resolve_for_task(
    value: Mapping[str, Any] | None, project: Project, caller: Caller
) -> Scope:
    """Like `resolve`, but a bound key that names no scope writes in its user's scope."""
    if not value and caller.user_id:
        return Scope("user", caller.user_id)
    return resolve(value, project, caller)


def read_too(
    data: Mapping[str, str] | None, project: Project, caller: Caller
) -> tuple[Scope, ...]:
    """Return the scopes that a task reads beside the shared ones.

    This is the scope that the request names, or else that of the bound user.
    """
    if not data and not caller.user_id:
        return ()
    return (resolve_for_task(data, project, caller),)


def narrower_scopes(scope: Scope | None, session_id: str) -> tuple[Scope, ...]:
    """Return the session scopes that a read of a user scope also covers.

    Only the named session is covered: once as a session of the user, and once without a
    user.
    """
    if scope is None or scope.kind != "user" or not session_id:
        return ()
    return Scope("session", session_id, user=scope.key), Scope("session", session_id)


def _default_key(kind: str, project: Project, caller: Caller) -> str:
    if kind == "workspace":
        return str(project.pk)
    if kind == "org":
        return str(project.organization_id)
    if kind == "user" and caller.user_id:
        return caller.user_id
    raise errors.Invalid(
        f"A scope of kind {kind} needs {KEY_FIELDS[kind]}.",
        errors={"scope": [f"{KEY_FIELDS[kind]} is required for kind {kind}."]},
    )


def _organization_key(name: str, project: Project) -> str:
    """Return the id of the project's organization, which `name` names by id, slug or name."""
    key = str(project.organization_id)
    if name == key:
        return key
    organization = project.organization
    if name.strip().casefold() in (organization.slug, organization.name.casefold()):
        return key
    message = (
        f"The project {project.name} belongs to the organization {organization.slug}: send "
        f"org_id {organization.slug}, or leave org_id out. For a name of your own, use a "
        "workspace or an object."
    )
    raise errors.Invalid(message, errors={"scope": [message]})


def redact_scope(scope: Scope) -> Scope:
    """Return the scope that the purged memories of a scope have."""
    return Scope(
        scope.kind,
        redact_name(scope.key),
        redact_name(scope.type),
        redact_name(scope.user),
    )
