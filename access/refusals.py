"""Audit refused requests, at a limited rate, so that refusals cannot fill the table."""

from __future__ import annotations

import time
import uuid
from typing import Any

from django.http import HttpResponseBase

from access.models import SECRET_PREFIX, VISIBLE_CHARACTERS
from audit.trail import record
from common.address import client_address
from common.caller import Caller
from common.request_id import request_id

AUDIT_INTERVAL = 60.0  # seconds between two audit rows of a caller, in each process
MAX_REMEMBERED = 10_000  # the most keys and addresses that a process remembers

_next_audit: dict[str, float] = {}


def audit_refusal(
    request: Any, response: HttpResponseBase, project_id: uuid.UUID | None = None
) -> None:
    """Audit a request that was refused with 403, or with 401 if it had a key."""
    caller = getattr(request, "_auth", None)
    header = request.META.get("HTTP_AUTHORIZATION", "")
    if response.status_code == 401 and header:
        caller = unknown_caller(request, header)
    elif response.status_code != 403 or not isinstance(caller, Caller):
        return
    if not is_due(f"{caller.key_id or caller.name} {caller.address}"):
        return
    record(
        caller,
        "access.refused",
        project_id=project_id,
        object_type="route",
        object_id=request.path,
        method=request.method,
        status=response.status_code,
        code=getattr(response, "data", {}).get("code", ""),
    )


def unknown_caller(request: Any, header: str) -> Caller:
    secret = header.rpartition(" ")[2]
    visible = secret[: len(SECRET_PREFIX) + VISIBLE_CHARACTERS]
    has_known_form = secret.startswith(SECRET_PREFIX) and visible.isprintable()
    return Caller(
        name=f"key:{visible}" if has_known_form else "unknown",
        request_id=request_id(),
        address=client_address(request),
    )


def is_due(name: str) -> bool:
    now = time.monotonic()
    if now < _next_audit.get(name, 0.0):
        return False
    if len(_next_audit) >= MAX_REMEMBERED:
        _next_audit.clear()
    _next_audit[name] = now + AUDIT_INTERVAL
    return True
