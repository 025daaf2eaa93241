"""The description of a call, and the method that a client makes of it."""

from __future__ import annotations

import functools
import uuid
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, ParamSpec, TypeVar, overload
from urllib.parse import quote

P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True)
class Request(Generic[T]):
    """A call of the service that has not been sent; `T` is the type of its answer."""

    method: str
    path: str
    query: Mapping[str, Any] = field(default_factory=dict)
    body: Mapping[str, Any] | None = None
    content: bytes | None = None
    content_type: str = "application/json"
    # Where the client's own project is added if the call names none.
    project_in: Literal["query", "body", ""] = ""
    # None: a new key for each call that can be repeated. "" : the operation takes none.
    idempotency_key: str | None = ""

    @functools.cached_property
    def headers(self) -> dict[str, str]:
        """The headers of the request, the same for each attempt."""
        key = (
            str(uuid.uuid4()) if self.idempotency_key is None else self.idempotency_key
        )
        return {"Idempotency-Key": key} if key else {}

    @property
    def is_repeatable(self) -> bool:
        """Whether a second attempt does no more than the first."""
        return self.method in ("GET", "PUT", "DELETE") or bool(self.headers)


def path(template: str, *values: str) -> str:
    """Fill the places of a path; a slash in a value stays part of the value."""
    return template.format(*(quote(str(value), safe="") for value in values))


def without_none(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


class Sender(ABC):
    """A sender of requests that waits for each answer."""

    @abstractmethod
    def send(self, request: Request[T]) -> T: ...


class AsyncSender(ABC):
    """A sender of requests that returns an awaitable of each answer."""

    @abstractmethod
    def send(self, request: Request[T]) -> Awaitable[T]: ...


class Method(Generic[P, T]):
    """A method of both clients: it builds a request, and the client sends it."""

    def __init__(self, build: Callable[P, Request[T]]) -> None:
        self.build = build
        self.__doc__ = build.__doc__

    @overload
    def __get__(self, client: Sender, owner: type) -> Callable[P, T]: ...
    @overload
    def __get__(
        self, client: AsyncSender, owner: type
    ) -> Callable[P, Awaitable[T]]: ...
    @overload
    def __get__(self, client: None, owner: type) -> Method[P, T]: ...
    def __get__(self, client: Sender | AsyncSender | None, owner: type) -> Any:
        if client is None:
            return self

        @functools.wraps(self.build)
        def call(*args: P.args, **kwargs: P.kwargs) -> T | Awaitable[T]:
            return client.send(self.build(*args, **kwargs))

        return call
