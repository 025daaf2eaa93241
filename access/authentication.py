"""Authenticate an API key or a signed-in person, and build the `Caller`."""

from __future__ import annotations

import hmac
from datetime import timedelta
from typing import Any

import structlog
from django.contrib.auth.models import AbstractUser, AnonymousUser
from django.db.models import Q
from django.utils import timezone
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from rest_framework.authentication import BaseAuthentication, SessionAuthentication
from rest_framework.exceptions import AuthenticationFailed, PermissionDenied
from rest_framework.request import Request

from access.models import ApiKey, hash_secret
from common import errors
from common.address import client_address
from common.api import throttling
from common.caller import SHARE, Caller, Role
from common.db import RowReader
from common.request_id import request_id
from projects.models import Membership

SCHEME = "bearer"
MAX_SECRET_LENGTH = 200  # characters; a secret has 46
LAST_USED_INTERVAL = timedelta(minutes=1)


class CsrfFailed(errors.Forbidden):
    """To write in a session, send the value of cookie `csrftoken` in header X-CSRFToken."""

    code = "csrf_failed"


class KeyAuthentication(BaseAuthentication):
    """`Authorization: Bearer am_…`"""

    def authenticate(self, request: Request) -> tuple[AnonymousUser, Caller] | None:
        scheme, _, secret = request.META.get("HTTP_AUTHORIZATION", "").partition(" ")
        if scheme.lower() != SCHEME:
            return None
        key = find_key(secret.strip())
        if key is None:
            throttling.charge_address(request)
            raise AuthenticationFailed
        record_use(key)
        caller = caller_for_key(key, request)
        request.META[SHARE] = caller.share
        structlog.contextvars.bind_contextvars(caller=caller.name)
        return AnonymousUser(), caller

    def authenticate_header(self, request: Request) -> str:
        return "Bearer"


def find_key(secret: str) -> Any:
    """Return the usable `ApiKey` of a secret, with `project_ids`, or None.

    The look-up is by SHA-256, so its duration reveals nothing about the secret.
    """
    if not secret or len(secret) > MAX_SECRET_LENGTH or not secret.isascii():
        return None
    digest = hash_secret(secret)
    for row, (project_ids,) in KEY_ROWS.read(KEY_BY_HASH, [digest]):
        key: Any = row
        if hmac.compare_digest(key.hash, digest) and not key.has_ended:
            key.project_ids = project_ids
            return key
    return None


# Every request runs this query, and building a queryset takes longer than the query itself.
KEY_ROWS = RowReader(ApiKey)
KEY_BY_HASH = f"""
SELECT {KEY_ROWS.columns}, ARRAY(
    SELECT project_id FROM access_apikey_projects WHERE apikey_id = access_apikey.id
)
FROM access_apikey
WHERE hash = %s
    AND coalesce((SELECT is_active FROM auth_user AS a WHERE a.id = account_id), true)
"""


def record_use(key: ApiKey) -> None:
    """Update `last_used_at` at most once a minute; a write for each request would cost more."""
    now = timezone.now()
    due = now - LAST_USED_INTERVAL
    if key.last_used_at and key.last_used_at > due:
        return
    is_due = Q(last_used_at=None) | Q(last_used_at__lte=due)
    ApiKey.objects.filter(is_due, pk=key.pk).update(last_used_at=now)


def caller_for_key(key: Any, request: Any) -> Caller:
    role = Role(key.role)
    return Caller(
        name=f"key:{key.prefix}",
        everywhere=role if key.everywhere else None,
        roles=dict.fromkeys(key.project_ids, role),
        key_id=key.pk,
        line_id=key.line_id,
        root_line_id=key.root_line_id,
        key_account_id=key.account_id,
        may_attest=key.may_attest,
        acts_for_users=key.acts_for_users,
        agent_id=key.agent_id,
        user_id=key.user_id,
        request_id=request_id(),
        address=client_address(request),
    )


class BrowserAuthentication(SessionAuthentication):
    """Authenticate a session of the admin; every write needs its CSRF token."""

    def authenticate(self, request: Request) -> tuple[Any, Any] | None:
        credentials = super().authenticate(request)
        if credentials is None:
            return None
        caller = caller_for_account(credentials[0], request)
        structlog.contextvars.bind_contextvars(caller=caller.name)
        return credentials[0], caller

    def enforce_csrf(self, request: Request) -> None:
        try:
            super().enforce_csrf(request)
        except PermissionDenied as error:
            raise CsrfFailed from error


def caller_for_account(account: AbstractUser, request: Any) -> Caller:
    """Build the caller of a signed-in person, for the API and the admin."""
    rows = Membership.objects.filter(account_id=account.pk)
    caller = Caller(
        name=f"user:{account.get_username()}",
        everywhere=Role.OWNER if account.is_superuser else None,
        roles={
            project_id: Role(role)
            for project_id, role in rows.values_list("project_id", "role")
        },
        account_id=account.pk,
        request_id=request_id(),
        address=client_address(request),
    )
    request.META[SHARE] = caller.share
    return caller


class KeyScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]  # registers itself
    target_class = "access.authentication.KeyAuthentication"
    name = "key"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        return {"type": "http", "scheme": SCHEME, "description": "An API key, am_…"}


class BrowserScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]  # as above
    target_class = "access.authentication.BrowserAuthentication"
    name = "session"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        return {"type": "apiKey", "in": "cookie", "name": "sessionid"}
