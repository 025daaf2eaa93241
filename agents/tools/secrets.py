"""The named secrets of a project's tools: written, used in headers, and never shown."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from agents.models import AgentTool, ToolSecret
from agents.tools import encryption
from agents.tools.placeholders import NAME, find_secret_names
from agents.tools.tool import ToolFailure
from audit import trail
from common import errors
from common.caller import Caller, Role
from common.db import write
from projects.models import Project

MAX_SECRETS = 100  # of a project
MIN_LENGTH = 8  # a shorter value could not be masked without masking ordinary words
MAX_LENGTH = 8_000  # characters of a value, the most that servers accept in a header
BAD_NAME = "A letter or `_`, then letters, digits, `_`, `.` and `-`, at most 64."
NO_CONTROLS = "A header can have ASCII without line breaks, and no spaces at its ends."


class TooManySecrets(errors.StateConflict):
    """The project has as many secrets of tools as it may have; delete one."""

    code = "too_many_tool_secrets"


@dataclass(frozen=True)
class SecretStatus:
    """What may be said about a secret: which tools use it, and whether it is readable.

    `state` is `ready`, `old_key` (a key of SECRET_KEY_FALLBACKS encrypted it; its next use
    encrypts it again) or `unreadable` (store it again).
    """

    name: str
    updated_at: datetime
    state: str
    tools: list[str]


@write
def put_secret(project: Project, name: str, value: str, caller: Caller) -> SecretStatus:
    """Store or replace a secret. Raises Invalid, TooManySecrets."""
    caller.require_administrator(
        Role.OWNER, project.pk, action="change the secrets of tools"
    )
    if not re.fullmatch(NAME, name):
        raise errors.Invalid(errors={"name": [BAD_NAME]})
    if not value.isprintable() or not value.isascii() or value != value.strip():
        raise errors.Invalid(errors={"value": [NO_CONTROLS]})
    rows = ToolSecret.objects.filter(project=project)
    secret = rows.select_for_update(no_key=True).filter(name=name).first()
    if secret is None:
        if rows.count() >= MAX_SECRETS:
            raise TooManySecrets
        secret = ToolSecret(project=project, name=name)
    secret.encrypted_value = encryption.encrypt(value)
    secret.save()
    _audit(caller, "tool_secret.put", secret)
    return describe_secret(secret)


@write
def delete_secret(project: Project, name: str, caller: Caller) -> None:
    """Delete a secret. The tools that name it then fail and say so. Raises NotFound."""
    caller.require_administrator(
        Role.OWNER, project.pk, action="change the secrets of tools"
    )
    secret = find_secret(project, name, caller)
    _audit(caller, "tool_secret.delete", secret)
    secret.delete()


def find_secret(project: Project, name: str, caller: Caller) -> ToolSecret:
    """Return the row of a secret; raise NotFound."""
    rows = ToolSecret.objects.visible_to(caller, project)
    secret: ToolSecret | None = rows.filter(name=name).first()
    if secret is None:
        raise errors.NotFound(f"The project has no secret {name}.")
    return secret


def describe_secret(secret: ToolSecret) -> SecretStatus:
    tools = AgentTool.objects.filter(project=secret.project_id)
    users = [
        tool.name
        for tool in tools
        if secret.name in find_secret_names(tool.definition.get("headers", {}))
    ]
    return SecretStatus(secret.name, secret.updated_at, _state_of(secret), users)


def _state_of(secret: ToolSecret) -> str:
    try:
        _, is_current = encryption.decrypt(secret.encrypted_value)
    except encryption.Undecryptable:
        return "unreadable"
    return "ready" if is_current else "old_key"


def _audit(caller: Caller, verb: str, secret: ToolSecret) -> None:
    trail.record(
        caller,
        verb,
        project_id=secret.project_id,
        object_type="tool_secret",
        object_id=secret.pk,
        name=secret.name,
    )


def read_values(project: Project, names: Collection[str]) -> dict[str, str]:
    """Return the values of secrets by name, for one call of a tool; raise ToolFailure.

    A value that an earlier key encrypted is encrypted again with the current key.
    """
    if not names:
        return {}
    found = {
        secret.name: secret
        for secret in ToolSecret.objects.filter(project=project, name__in=names)
    }
    return {name: _read_value(name, found.get(name)) for name in names}


def _read_value(name: str, secret: ToolSecret | None) -> str:
    if secret is None:
        raise ToolFailure(
            f"The secret {name} of this tool is not stored. An owner of the project stores it "
            f"with PUT /agents/secrets/{name}."
        )
    try:
        value, is_current = encryption.decrypt(secret.encrypted_value)
    except encryption.Undecryptable:
        raise ToolFailure(
            f"The secret {name} of this tool cannot be decrypted, because SECRET_KEY has "
            f"changed. An owner stores it again with PUT /agents/secrets/{name}, or the "
            "operator adds the earlier key to SECRET_KEY_FALLBACKS."
        ) from None
    if not is_current:
        _encrypt_again(secret, value)
    return value


def _encrypt_again(secret: ToolSecret, value: str) -> None:
    """Replace the encrypted value, unless an owner has replaced it meanwhile."""
    same = ToolSecret.objects.filter(
        pk=secret.pk, encrypted_value=secret.encrypted_value
    )
    same.update(encrypted_value=encryption.encrypt(value), updated_at=secret.updated_at)
