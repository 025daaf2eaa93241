"""Whose a memory is: the five scopes of requirement 000, and who may name them."""

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

# The fields that each kind is written with in the API.
KEY_FIELDS = {
    "session": "session_id",
    "user": "user_id",
    "workspace": "workspace_id",
    "org": "org_id",
    "object": "object_id",
}


@dataclass(frozen=True)
class Scope:
    """A kind and its opaque key; `type` of objects, `user` of a user's session."""

    kind: str
    key: str
    type: str = ""
    user: str = ""

    @property
    def hash(self) -> str:
        """One fixed-width column that two memories share when their scopes are equal."""
        parts = json.dumps([self.kind, self.type, self.key, self.user])
        return hashlib.sha256(parts.encode()).hexdigest()[:32]

    @property
    def shown(self) -> dict[str, str]:
        """The scope as it is written in the API."""
        shown = {"kind": self.kind, KEY_FIELDS[self.kind]: self.key}
        if self.kind == "object":
            return {**shown, "object_type": self.type}
        return {**shown, "user_id": self.user} if self.user else shown

    @property
    def owner(self) -> str:
        """The user whose scope it is; empty for what is shared."""
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
    """The scope that a request names; workspace of the project when it names none.

    A key bound to a user reaches the user and session scopes of that user only:
    another user's scope does not exist for it.
    """
    if not value:
        return Scope("workspace", str(project.pk))
    kind = value["kind"]
    key = str(value.get(KEY_FIELDS[kind]) or _default_key(kind, project, caller))
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


def narrower_scopes(scope: Scope | None, session_id: str) -> tuple[Scope, ...]:
    """What joins a read of a user's rows: the named session, the user's and nobody's.

    None is discovered.
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


def redact_scope(scope: Scope) -> Scope:
    """The scope that purged memories of a scope have."""
    return Scope(
        scope.kind,
        redact_name(scope.key),
        redact_name(scope.type),
        redact_name(scope.user),
    )
