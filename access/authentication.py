"""Who is asking: an API key or a signed-in person, made into a `Caller`."""

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

from access import throttling
from access.models import ApiKey, secret_hash
from common import errors
from common.address import client_address
from common.caller import Caller, Role
from common.request_id import request_id
from common.rows import Rows
from projects.models import Membership

SCHEME = "bearer"
LONGEST_SECRET = 200  # characters; ours have 46
USE_NOTED_EVERY = timedelta(minutes=1)


class CsrfFailed(errors.Forbidden):
    """A session writes with its CSRF token only: cookie `csrftoken`, header X-CSRFToken."""

    code = "csrf_failed"


class KeyAuthentication(BaseAuthentication):
    """`Authorization: Bearer am_…`"""

    def authenticate(self, request: Request) -> tuple[AnonymousUser, Caller] | None:
        scheme, _, secret = request.META.get("HTTP_AUTHORIZATION", "").partition(" ")
        if scheme.lower() != SCHEME:
            return None
        key = find(secret.strip())
        if key is None:
            throttling.charge_stranger(request)
            raise AuthenticationFailed
        note_use(key)
        caller = caller_of(key, request)
        structlog.contextvars.bind_contextvars(caller=caller.name)
        return AnonymousUser(), caller

    def authenticate_header(self, request: Request) -> str:
        return "Bearer"


def find(secret: str) -> Any:
    """The usable `ApiKey` of a secret, with `project_ids`; None without one.

    The look-up is by SHA-256, so its time tells nothing about the secret.
    """
    if not secret or len(secret) > LONGEST_SECRET or not secret.isascii():
        return None
    digest = secret_hash(secret)
    for found, (project_ids,) in KEYS.read(OF_HASH, [digest]):
        key: Any = found
        if hmac.compare_digest(key.hash, digest) and not key.is_over:
            key.project_ids = project_ids
            return key
    return None


# Asked by every request: as a queryset, building it took longer than answering.
KEYS = Rows(ApiKey)
OF_HASH = f"""
SELECT {KEYS.columns}, ARRAY(
    SELECT project_id FROM access_apikey_projects WHERE apikey_id = access_apikey.id
)
FROM access_apikey
WHERE hash = %s
    AND coalesce((SELECT is_active FROM auth_user AS a WHERE a.id = account_id), true)
"""


def note_use(key: ApiKey) -> None:
    """Keep `last_used_at`, to the minute: a write for each request would cost more."""
    now = timezone.now()
    due = now - USE_NOTED_EVERY
    if key.last_used_at and key.last_used_at > due:
        return
    unnoted = Q(last_used_at=None) | Q(last_used_at__lte=due)
    ApiKey.objects.filter(unnoted, pk=key.pk).update(last_used_at=now)


def caller_of(key: Any, request: Any) -> Caller:
    role = Role(key.role)
    return Caller(
        name=f"key:{key.prefix}",
        everywhere=role if key.everywhere else None,
        roles=dict.fromkeys(key.project_ids, role),
        key_id=key.pk,
        agent_id=key.agent_id,
        user_id=key.user_id,
        request_id=request_id(),
        address=client_address(request),
    )


class BrowserAuthentication(SessionAuthentication):
    """A session of the admin, with its CSRF token on every write."""

    def authenticate(self, request: Request) -> tuple[Any, Any] | None:
        found = super().authenticate(request)
        if found is None:
            return None
        caller = caller_for(found[0], request)
        structlog.contextvars.bind_contextvars(caller=caller.name)
        return found[0], caller

    def enforce_csrf(self, request: Request) -> None:
        try:
            super().enforce_csrf(request)
        except PermissionDenied as error:
            raise CsrfFailed from error


def caller_for(account: AbstractUser, request: Any) -> Caller:
    """The caller that a signed-in person is, for the doors of the API and the admin."""
    rows = Membership.objects.filter(account_id=account.pk)
    return Caller(
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
