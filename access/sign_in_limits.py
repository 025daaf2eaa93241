"""Limit wrong passwords per account and per address, beside the limit for both together.

django-axes locks an account for the address that sent too many wrong passwords. That does
not stop one address that tries many accounts, or many addresses that try one account.

A stranger must not lock the owner out. A browser that has signed in to an account keeps a
signed cookie. With it, only the limit for account and address together holds.
"""

from __future__ import annotations

from typing import Any

from axes.attempts import get_cool_off_threshold
from axes.handlers.database import AxesDatabaseHandler
from axes.helpers import get_client_username
from axes.models import AccessAttempt
from django.conf import settings
from django.core import signing
from django.db.models import QuerySet, Sum
from django.http import HttpRequest, HttpResponseBase

COOKIE = "known_browser"
SALT = "access.sign_in_limits"


class SignInLimits(AxesDatabaseHandler):  # type: ignore[misc]  # axes is untyped
    """The handler of django-axes, with one limit per account and one per address."""

    def is_locked(
        self, request: Any, credentials: dict[str, Any] | None = None
    ) -> bool:
        if super().is_locked(request, credentials):
            return True
        username = get_client_username(request, credentials) or ""
        if knows_account(request, username):
            return False
        recent = AccessAttempt.objects.filter(
            attempt_time__gte=get_cool_off_threshold(request)
        )
        address = request.axes_ip_address
        of_address = recent.filter(ip_address=address) if address else recent.none()
        return (
            count_failures(of_address) >= settings.LOGIN_ADDRESS_LIMIT
            or count_failures(recent.filter(username=username))
            >= settings.LOGIN_ACCOUNT_LIMIT
        )


def count_failures(attempts: QuerySet[Any]) -> int:
    total: int | None = attempts.aggregate(n=Sum("failures_since_start"))["n"]
    return total or 0


def knows_account(request: HttpRequest, username: str) -> bool:
    """Return whether this browser has signed in to the account before."""
    cookie = request.COOKIES.get(COOKIE, "")
    try:
        known: Any = signing.loads(
            cookie, salt=SALT, max_age=settings.SIGN_IN_DAYS * 86_400
        )
    except signing.BadSignature:
        return False
    return bool(username) and known == username


def remember_browser(request: HttpRequest, response: HttpResponseBase) -> None:
    """Set the cookie for a person who is signed in."""
    username = request.user.get_username()
    if not request.user.is_authenticated or knows_account(request, username):
        return
    response.set_cookie(
        COOKIE,
        signing.dumps(username, salt=SALT),
        max_age=settings.SIGN_IN_DAYS * 86_400,
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )
