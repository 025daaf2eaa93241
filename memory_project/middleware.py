from __future__ import annotations

import time
from collections.abc import Callable
from datetime import tzinfo
from typing import Any
from zoneinfo import ZoneInfo

from csp.decorators import csp_update
from django.conf import settings
from django.http import (
    HttpRequest,
    HttpResponseBase,
    HttpResponsePermanentRedirect,
)
from django.middleware.common import CommonMiddleware
from django.utils import timezone
from django.utils.functional import SimpleLazyObject
from django_structlog.middlewares import RequestMiddleware

from access import authentication, refusals, sign_in_limits
from common.address import is_host_an_address
from common.caller import Caller
from memory_project import metrics
from projects.models import Project

PAGE_APPS = {"admin", "console"}  # the apps whose views are pages for people
ZONE_COOKIE = "zone"
NOBODY = Caller(name="nobody")
PROBES = {"/healthz", "/readyz"}
METRICS = "/metrics"


class RequestLogMiddleware(RequestMiddleware):
    """Log each request by its path: a query string holds what people searched for."""

    @staticmethod
    def format_request(request: HttpRequest) -> str:
        return f"{request.method} {request.path}"


class MetricsMiddleware:
    """Count every answer; it is outermost, so it also counts refusals of other middleware."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        started = time.perf_counter()
        response = self.get_response(request)
        metrics.count_request(request, response, time.perf_counter() - started)
        return response


class HostMiddleware(CommonMiddleware):
    """Refuse hosts that are not allowed, except for probes and metrics by IP address.

    A probe does not know the host name, nor does a Prometheus on the same network.
    """

    def process_request(
        self, request: HttpRequest
    ) -> HttpResponsePermanentRedirect | None:
        path = request.path_info
        if path in PROBES or (path == METRICS and is_host_an_address(request)):
            return None
        return super().process_request(request)


class AdminMiddleware:
    """Set the caller, the time zone and the content security policy of pages.

    This middleware runs after the authentication, because it reads the account. It runs
    inside the CSP middleware, because the CSP middleware reads the policy.
    `request.projects` is {id: name} of the projects that the person may see.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        try:
            response = self.get_response(request)
        finally:
            timezone.deactivate()
        caller: Caller | None = getattr(request, "caller", None)
        if caller is None:
            return response
        sign_in_limits.remember_browser(request, response)
        if response.status_code == 403:
            request._auth = caller  # type: ignore[attr-defined]  # where the API keeps it
            refusals.audit_refusal(request, response)
        with_policy: HttpResponseBase = csp_update(settings.ADMIN_POLICY)(
            lambda _: response
        )(request)
        return with_policy

    def process_view(self, request: HttpRequest, *view: Any) -> None:
        match = request.resolver_match
        if match is None or match.app_name not in PAGE_APPS:
            return
        account = request.user
        caller = (
            authentication.caller_for_account(account, request)
            if account.is_authenticated
            else NOBODY
        )
        timezone.activate(time_zone_of(request))
        request.caller = caller  # type: ignore[attr-defined]  # read by common.admin.model_admin
        request.projects = SimpleLazyObject(  # type: ignore[attr-defined]  # as above
            lambda: dict(Project.objects.visible_to(caller).values_list("pk", "name"))
        )


def time_zone_of(request: HttpRequest) -> tzinfo:
    """Return the zone that `static/admin/zone.js` stored, or else the zone of the service."""
    try:
        return ZoneInfo(request.COOKIES[ZONE_COOKIE])
    except (KeyError, ValueError, OSError):  # no cookie, or no such zone
        return timezone.get_default_timezone()
