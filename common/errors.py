"""The errors of the API: a class has a status and a code; its docstring is its message."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

FieldErrors = Mapping[str, Sequence[str]]


def message_of(kind: type[Exception]) -> str:
    """Return the docstring of an error, in one line."""
    return " ".join((kind.__doc__ or "").split())


class Refusal(Exception):
    """The request was refused."""

    status: ClassVar[int] = 400
    code: ClassVar[str] = "refused"

    def __init__(
        self,
        detail: str | None = None,
        *,
        errors: FieldErrors | None = None,
        retry_after: int | None = None,
        **extra: Any,
    ) -> None:
        self.detail = detail or message_of(type(self))
        self.errors = dict(errors or {})
        self.retry_after = retry_after
        self.extra = extra
        super().__init__(self.detail)


class Invalid(Refusal):
    """The request does not match the schema; the error of each field says how to fix it."""

    code = "invalid"


class ImmutableField(Refusal):
    """This field cannot change after the row is created; create a new row instead."""

    code = "immutable_field"


class NotFound(Refusal):
    """There is no such row, or you may not see it."""

    status = 404
    code = "not_found"


class Forbidden(Refusal):
    """Your role does not allow the request; ask an owner of the project for a higher role."""

    status = 403
    code = "forbidden"


class StateConflict(Refusal):
    """The state of the row does not allow the request."""

    status = 409
    code = "conflict"


class StaleVersion(Refusal):
    """The row has changed since you read it. Read it again and repeat your change."""

    status = 409
    code = "stale_version"


class TooLarge(Refusal):
    """The body is too large for this route; send less, or send it in several requests."""

    status = 413
    code = "too_large"


class Busy(Refusal):
    """The row is locked by another request; try again in a moment."""

    status = 503
    code = "busy"
