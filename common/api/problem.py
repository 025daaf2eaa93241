"""Errors of the API as RFC 9457 `application/problem+json`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

import psycopg
import structlog
from django.core.exceptions import (
    PermissionDenied,
    RequestDataTooBig,
    SuspiciousOperation,
)
from django.db import DataError, InterfaceError, OperationalError
from django.http import Http404, HttpResponse, UnreadablePostError
from django.urls import ResolverMatch
from rest_framework import exceptions, serializers
from rest_framework.utils.encoders import JSONEncoder

from common import errors
from common.request_id import request_id

MEDIA_TYPE = "application/problem+json"

log = structlog.get_logger(__name__)


class Unauthenticated(errors.Refusal):
    """Send `Authorization: Bearer <key>` with a key that is neither expired nor revoked."""

    status = 401
    code = "unauthenticated"


class NoSuchRoute(errors.NotFound):
    """There is no such route; /api/docs lists them. Paths have no trailing slash."""

    code = "no_such_route"


class MethodNotAllowed(errors.Refusal):
    """This route does not take this method; the header Allow names those it takes."""

    status = 405
    code = "method_not_allowed"


class UnsupportedMediaType(errors.Refusal):
    """Send JSON in UTF-8, with the header `Content-Type: application/json`."""

    status = 415
    code = "unsupported_media_type"


class TooManyRequests(errors.Refusal):
    """Too many requests; wait for the seconds in the header Retry-After."""

    status = 429
    code = "throttled"


class OutOfRange(errors.Refusal):
    """A value is too large or too long for the column that would hold it."""

    code = "out_of_range"


class BrokenRequest(errors.Refusal):
    """The request is not well-formed HTTP, or broke off before its end."""

    code = "broken_request"


class SlowRequest(errors.Refusal):
    """The request did not arrive in time; send it again over a faster connection, or in parts."""

    status = 408
    code = "slow_request"


class TooSlow(errors.Refusal):
    """The database took too long; narrow the request down, or try again later."""

    status = 503
    code = "too_slow"


class DatabaseUnavailable(errors.Refusal):
    """The database does not answer; try again in some seconds. See /readyz."""

    status = 503
    code = "unavailable"


class InternalFailure(errors.Refusal):
    """The service failed on this request; its log has the request_id."""

    status = 500
    code = "internal"


class ProblemResponse(HttpResponse):
    def __init__(self, refusal: errors.Refusal) -> None:
        self.data = body_of(refusal)
        text = json.dumps(self.data, cls=JSONEncoder, ensure_ascii=False)
        super().__init__(
            text.encode("utf-8", "backslashreplace"),
            content_type=MEDIA_TYPE,
            status=refusal.status,
        )
        if refusal.retry_after is not None:
            self["Retry-After"] = str(refusal.retry_after)
        if refusal.status == 401:
            self["WWW-Authenticate"] = "Bearer"


def body_of(refusal: errors.Refusal) -> dict[str, Any]:
    return {
        **refusal.extra,
        "type": f"urn:agent-memory:problem:{refusal.code}",
        "title": refusal.code.replace("_", " ").capitalize(),
        "status": refusal.status,
        "code": refusal.code,
        "detail": refusal.detail,
        "errors": {name: list(texts) for name, texts in refusal.errors.items()},
        "request_id": request_id(),
    }


def add_error_member(refusal: errors.Refusal) -> errors.Refusal:
    """Return the refusal with the member `error`, as the routes of seed 004 answer it."""
    refusal.extra["error"] = {"type": refusal.code, "message": refusal.detail}
    return refusal


def names_error(match: ResolverMatch | None) -> bool:
    """Whether the problems of a route have the member `error`."""
    view = getattr(match.func, "cls", None) if match else None
    return bool(getattr(view, "has_error_member", False))


def handle_exception(
    error: Exception, context: Mapping[str, Any]
) -> HttpResponse | None:
    """Exception handler of DRF; returns None for a fault of the service itself."""
    refusal = refusal_for(error)
    return ProblemResponse(refusal) if refusal else None


def refusal_for(error: Exception) -> errors.Refusal | None:
    match error:
        case errors.Refusal():
            return error
        case exceptions.APIException():
            return _refusal_from_drf(error)
        case Http404():
            return errors.NotFound()
        case PermissionDenied():
            return errors.Forbidden()
        case RequestDataTooBig():
            return errors.TooLarge()
        case SuspiciousOperation() | UnreadablePostError():
            return BrokenRequest()
        case OperationalError() | InterfaceError() | DataError():
            log.warning("database_refused", error=str(error))
            return _refusal_from_database(error)
    return None


def _refusal_from_drf(error: exceptions.APIException) -> errors.Refusal | None:
    match error:
        case exceptions.ValidationError():
            return errors.Invalid(errors=field_errors(error.detail))
        case exceptions.NotAuthenticated() | exceptions.AuthenticationFailed():
            return Unauthenticated()
        case exceptions.PermissionDenied():
            return errors.Forbidden()
        case exceptions.NotFound():
            return errors.NotFound()
        case exceptions.MethodNotAllowed():
            return MethodNotAllowed()
        case exceptions.UnsupportedMediaType():
            return UnsupportedMediaType()
        case exceptions.Throttled():
            return TooManyRequests(retry_after=1)
    if error.status_code >= 500:
        return None
    return BrokenRequest(str(error.detail))


def _refusal_from_database(
    error: OperationalError | InterfaceError | DataError,
) -> errors.Refusal:
    cause = error.__cause__
    if isinstance(error, DataError) or isinstance(
        cause, psycopg.errors.ProgramLimitExceeded
    ):
        return OutOfRange()
    if isinstance(cause, psycopg.errors.QueryCanceled):
        return TooSlow(retry_after=5)
    lock_errors = (
        psycopg.errors.LockNotAvailable,
        psycopg.errors.DeadlockDetected,
        psycopg.errors.SerializationFailure,
    )
    if isinstance(cause, lock_errors):
        return errors.Busy(retry_after=1)
    return DatabaseUnavailable(retry_after=5)


def field_errors(
    detail: Any, serializer: serializers.BaseSerializer[Any] | None = None
) -> dict[str, list[str]]:
    """Flatten nested errors to {"path.to.0.field": [message, …]}.

    With the serializer, the message of an invalid choice lists the valid ones.
    """
    flat: dict[str, list[str]] = {}
    _flatten(detail, "", serializer, flat)
    return flat


def _flatten(detail: Any, path: str, field: Any, flat: dict[str, list[str]]) -> None:
    if isinstance(detail, Mapping):
        for name, inner in detail.items():
            _flatten(inner, _join_path(path, name), _child_field(field, name), flat)
    elif isinstance(detail, Sequence) and not isinstance(detail, str):
        for position, inner in enumerate(detail):
            if isinstance(inner, Mapping | list):
                _flatten(
                    inner,
                    _join_path(path, position),
                    _child_field(field, position),
                    flat,
                )
            else:
                flat.setdefault(path or "body", []).append(_message(inner, field))
    else:
        flat.setdefault(path or "body", []).append(_message(detail, field))


def _join_path(path: str, name: object) -> str:
    if name == "non_field_errors":
        return path
    return f"{path}.{name}" if path else str(name)


def _child_field(field: Any, name: object) -> Any:
    if isinstance(field, serializers.Serializer):
        return field.fields.get(str(name))
    return getattr(field, "child", None)


def _message(message: object, field: Any) -> str:
    choices = getattr(field, "choices", None)
    if choices and getattr(message, "code", "") == "invalid_choice":
        return f"{message} It must be one of: {', '.join(map(str, choices))}."
    return str(message)


def problem_for_status(status: int) -> errors.Refusal:
    """Return the problem of an error that Django answers before it calls a view."""
    problems: dict[int, type[errors.Refusal]] = {
        400: BrokenRequest,
        403: errors.Forbidden,
        404: NoSuchRoute,
        405: MethodNotAllowed,
        413: errors.TooLarge,
        415: UnsupportedMediaType,
        429: TooManyRequests,
        503: DatabaseUnavailable,
    }
    if status in problems:
        return problems[status]()
    if status >= 500:
        return InternalFailure()
    return BrokenRequest(f"{status} {HTTPStatus(status).phrase}")
