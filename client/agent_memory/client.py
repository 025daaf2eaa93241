"""The client and its async twin: what both do is in `Exchange`, they send and wait."""

from __future__ import annotations

import asyncio
import random
import time
import warnings
from collections.abc import AsyncIterator, Generator, Iterator
from email.utils import parsedate_to_datetime
from typing import Any, Self, TypeVar, cast
from urllib.parse import urlsplit

import httpx

from agent_memory import version
from agent_memory.errors import Problem, Unreachable, VersionWarning
from agent_memory.methods import Methods
from agent_memory.own_command import spell
from agent_memory.page import Page
from agent_memory.request import AsyncSender, Request, Sender

T = TypeVar("T")

API = "/api/v1/"
ATTEMPTS = 3
FIRST_WAIT = (
    0.2  # seconds before the second attempt; each further one waits twice as long
)
MAX_WAIT = 30.0  # seconds; a longer Retry-After is the caller's to wait for
RETRY_STATUSES = frozenset({429, 502, 503, 504})
TIMEOUT = 30.0  # seconds for an answer, as the service's own limit of a request

# A step of a call: send this, or wait for so many seconds.
Step = httpx.Request | float
Result = httpx.Response | httpx.TransportError | None
Steps = Generator[Step, Result, T]


class Exchange:
    """The steps of a call: attempts, waits, and what an answer means.

    `server_version` is the version in the newest answer. A call that names no project is
    made for `project`, if it takes one.
    """

    def __init__(
        self,
        url: str,
        key: str,
        *,
        project: str = "",
        attempts: int = ATTEMPTS,
    ) -> None:
        self.url = url.rstrip("/")
        self.project = project
        self.attempts = attempts
        self.server_version = ""
        self.headers = {
            "Authorization": f"Bearer {key}",
            "User-Agent": f"agent-memory/{version.VERSION}",
            version.HEADER: version.VERSION,
        }
        self._is_gap_known = False

    @property
    def version_gap(self) -> str:
        """The words on how to mend a server of another version; empty if there is none."""
        return version.describe_gap(self.server_version)

    def steps(self, request: Request[T]) -> Steps[T]:
        """Yield what to send and how long to wait; return the answer of the call."""
        built = self.build(request)
        for attempt in range(1, self.attempts + 1):
            result = yield built
            wait = FIRST_WAIT * 2 ** (attempt - 1) * random.uniform(0.5, 1.5)
            match result:
                case httpx.Response():
                    if not self._is_worth_retry(request, result):
                        return cast(T, self.read(result))
                    wait = _read_wait(result, wait)
                case httpx.TransportError():
                    if not (request.is_repeatable or is_unsent(result)):
                        raise self._unreachable(result) from result
            if attempt == self.attempts or wait > MAX_WAIT:
                break
            yield wait
        if isinstance(result, httpx.Response):
            return cast(T, self.read(result))
        raise self._unreachable(result) from result

    def build(self, request: Request[Any]) -> httpx.Request:
        query, body = dict(request.query), dict(request.body or {})
        named = {"query": query, "body": body}.get(request.project_in)
        if named is not None and self.project and not _names_project(named):
            named["project"] = self.project
        headers = {**self.headers, **request.headers}
        if request.content is not None:
            headers["Content-Type"] = request.content_type
        return httpx.Request(
            request.method,
            f"{self.url}{API}{request.path}",
            params=query,
            headers=headers,
            content=request.content,
            json=body if request.body is not None else None,
            extensions={"timeout": httpx.Timeout(TIMEOUT).as_dict()},
        )

    def read(self, response: httpx.Response) -> Any:
        """Return the answer's content; raise `Problem` if the server refused the call."""
        self.server_version = response.headers.get(version.HEADER, "")
        if response.status_code >= 400:
            gap = self.version_gap
            raise Problem(response.status_code, _problem_of(response), version_gap=gap)
        self._warn_of_gap()
        if response.status_code == 204:
            return None
        is_json = "json" in response.headers.get("Content-Type", "")
        return response.json() if is_json else response.text

    def next_page(self, page: Page[T]) -> Request[Page[T]] | None:
        """The request of the page after this one; None after the last.

        Only the path and the query of `next` are used: the key goes to no other host.
        """
        if not page["next"]:
            return None
        address = urlsplit(page["next"])
        path = address.path.partition(API)[2]
        return Request("GET", path, query=dict(httpx.QueryParams(address.query)))

    def _is_worth_retry(self, request: Request[Any], response: httpx.Response) -> bool:
        # A throttled request was refused before it did anything.
        is_safe = request.is_repeatable or response.status_code == 429
        return is_safe and response.status_code in RETRY_STATUSES

    def _warn_of_gap(self) -> None:
        if not self._is_gap_known and self.version_gap:
            self._is_gap_known = True
            warnings.warn(self.version_gap, VersionWarning, stacklevel=2)

    def _unreachable(self, error: object) -> Unreachable:
        return Unreachable(
            f"{self.url} does not answer: {error or type(error).__name__}.",
            hint=f"Is the service running? `bin/up` starts it; {spell('doctor')} says more.",
        )


def is_unsent(error: object) -> bool:
    """Whether the request cannot have reached the server."""
    return isinstance(
        error, httpx.ConnectError | httpx.ConnectTimeout | httpx.PoolTimeout
    )


def _read_wait(response: httpx.Response, default: float) -> float:
    """Return the seconds of `Retry-After`, which may also be a date (RFC 9110, 10.2.3)."""
    text = response.headers.get("Retry-After", "")
    if text.isdecimal():
        return float(text)
    try:
        until = parsedate_to_datetime(text)
    except ValueError:
        return default
    return max(0.0, until.timestamp() - time.time())


def _names_project(values: dict[str, Any]) -> bool:
    return any(values.get(name) for name in ("project", "project_id", "collection"))


def _problem_of(response: httpx.Response) -> dict[str, Any]:
    try:
        body = response.json()
    except ValueError:
        return {}
    return body if isinstance(body, dict) else {}


class Client(Methods, Exchange, Sender):
    """A client of the service; use it in a `with` block, or close it.

    with Client("http://127.0.0.1:8000", key, project="shop") as memory:
        memory.memories_create(content="Prices are whole cents.")
        for hit in memory.search(query="prices")["hits"]:
            print(hit["memory"]["content"])
    """

    def __init__(
        self,
        url: str,
        key: str,
        *,
        project: str = "",
        attempts: int = ATTEMPTS,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        super().__init__(url, key, project=project, attempts=attempts)
        self._http = httpx.Client(transport=transport)

    def send(self, request: Request[T]) -> T:
        steps = self.steps(request)
        result: Result = None
        while True:
            try:
                step = steps.send(result)
            except StopIteration as end:
                answer: T = end.value
                return answer
            result = self._take(step)

    def _take(self, step: Step) -> Result:
        if isinstance(step, float):
            time.sleep(step)
            return None
        try:
            return self._http.send(step)
        except httpx.TransportError as error:
            return error

    def follow(self, page: Page[T]) -> Iterator[T]:
        """Yield the rows of a page and of all pages after it."""
        yield from page["results"]
        while request := self.next_page(page):
            page = self.send(request)
            yield from page["results"]

    def close(self) -> None:
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class AsyncClient(Methods, Exchange, AsyncSender):
    """The client with the same methods, each to be awaited."""

    def __init__(
        self,
        url: str,
        key: str,
        *,
        project: str = "",
        attempts: int = ATTEMPTS,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        super().__init__(url, key, project=project, attempts=attempts)
        self._http = httpx.AsyncClient(transport=transport)

    async def send(self, request: Request[T]) -> T:
        steps = self.steps(request)
        result: Result = None
        while True:
            try:
                step = steps.send(result)
            except StopIteration as end:
                answer: T = end.value
                return answer
            result = await self._take(step)

    async def _take(self, step: Step) -> Result:
        if isinstance(step, float):
            await asyncio.sleep(step)
            return None
        try:
            return await self._http.send(step)
        except httpx.TransportError as error:
            return error

    async def follow(self, page: Page[T]) -> AsyncIterator[T]:
        """Yield the rows of a page and of all pages after it."""
        for row in page["results"]:
            yield row
        while request := self.next_page(page):
            page = await self.send(request)
            for row in page["results"]:
                yield row

    async def close(self) -> None:
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()
