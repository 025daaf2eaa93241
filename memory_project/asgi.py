"""What the web server calls: the loop reads bodies and sends answers, threads run Django.

A request takes a thread from its last byte until its answer is made, and no longer: who sends
or reads slowly, or follows a stream, takes none. Deadlines are in `web_worker`.
"""

from __future__ import annotations

import asyncio
import io
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from hashlib import sha256
from tempfile import SpooledTemporaryFile
from typing import IO, Any, cast
from urllib.parse import unquote_to_bytes
from weakref import WeakValueDictionary

from asgiref.wsgi import WsgiToAsgiInstance
from django.conf import settings
from django.http import HttpResponseBase, StreamingHttpResponse, parse_cookie

from common.address import client_network
from common.api.problem import ProblemResponse, TooManyRequests
from common.caller import SHARE
from common.errors import Refusal
from memory_project import wsgi

Message = dict[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Scope = dict[str, Any]

THREADS = int(os.environ.get("WEB_THREADS", "8"))
# So many threads of a process work for one caller at once; the others are for others.
THREADS_OF_ONE = max(1, THREADS // 2)
# So much of one caller waits for a thread; what comes then is refused.
MAX_WAITING, MAX_WAITING_BYTES = 64, 256 * 1024 * 1024
REMEMBERED = 10_000  # secrets of which the caller is known
IN_MEMORY = 256 * 1024  # bytes of a body or an answer; more are in a temporary file
PIECE = 64 * 1024  # bytes that are handed to the connection at once


class ClientGone(Exception):
    """The connection ended before the body did."""


@dataclass
class Answer:
    """What Django answered; either a finished `body`, or `stream`, whose events will come."""

    status: int
    headers: list[tuple[bytes, bytes]]
    body: IO[bytes] | None
    stream: StreamingHttpResponse | None = None

    def pieces(self) -> Iterator[bytes]:
        assert self.body
        while piece := self.body.read(PIECE):
            yield piece

    def close(self) -> None:
        for each in (self.body, self.stream):
            if each is not None:
                each.close()


class Share:
    """The threads of one caller, and what waits for them."""

    def __init__(self) -> None:
        self.threads = asyncio.Semaphore(THREADS_OF_ONE)
        self.requests = self.bytes = 0

    @property
    def is_full(self) -> bool:
        return self.requests >= MAX_WAITING or self.bytes >= MAX_WAITING_BYTES

    @asynccontextmanager
    async def take(self, size: int) -> AsyncIterator[None]:
        """Wait for a thread with a request of so many bytes."""
        self.requests += 1
        self.bytes += size
        try:
            await self.threads.acquire()
            yield
        finally:
            self.requests -= 1
            self.bytes -= size


class Application:
    def __init__(self, handler: Callable[..., Any]) -> None:
        self.handler = handler
        self.threads = ThreadPoolExecutor(THREADS, thread_name_prefix="request")
        self.shares = WeakValueDictionary[str, Share]()
        # {digest of a secret: the share of its caller}, of secrets that have been admitted.
        self.admitted: dict[str, str] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        environ = build_environ(scope)
        with SpooledTemporaryFile(max_size=IN_MEMORY) as body:
            environ["wsgi.input"] = body
            is_unread = has_unreadable_body(environ)
            try:
                if not is_unread:
                    await read_body(receive, cast("IO[bytes]", body))
            except ClientGone:
                return
            size = body.tell()
            body.seek(0)
            answer = await self.run(environ, size)
        try:
            await send_answer(answer, send, has_body=scope["method"] != "HEAD")
        finally:
            answer.close()
        if is_unread:
            # A client reads the answer once it has sent everything.
            with suppress(ClientGone):
                await read_body(receive, None)

    async def run(self, environ: dict[str, Any], size: int) -> Answer:
        """Run Django in a thread, as soon as the caller has one left."""
        share = self.share_of(environ)
        if share.is_full:
            return refuse(TooManyRequests(retry_after=1))
        loop = asyncio.get_running_loop()
        async with share.take(size):
            work = self.threads.submit(self.answer, environ)
            # It holds the share until the thread is free, also if the client has gone.
            work.add_done_callback(
                lambda _: loop.call_soon_threadsafe(share.threads.release)
            )
        try:
            return await asyncio.wrap_future(work)
        except asyncio.CancelledError:
            work.add_done_callback(close_unsent)
            raise

    def share_of(self, environ: dict[str, Any]) -> Share:
        """Return the share of a caller, or of an address while nobody knows the secret.

        Otherwise each secret that a client makes up would be another share.
        """
        known = map(self.admitted.get, hash_secrets(environ).values())
        name = next(filter(None, known), f"address:{client_network(environ)}")
        return self.shares.setdefault(name, Share())

    def remember_caller(self, environ: dict[str, Any]) -> None:
        """Note whose the secret of an answered request is: a key's, or else a session's."""
        share = environ.get(SHARE, "")
        kind = "key" if share.startswith("key:") else "session"
        digest = hash_secrets(environ).get(kind)
        if digest and share:
            if digest not in self.admitted and len(self.admitted) >= REMEMBERED:
                self.admitted.pop(next(iter(self.admitted)))
            self.admitted[digest] = share

    def answer(self, environ: dict[str, Any]) -> Answer:
        started: list[Any] = []
        response: HttpResponseBase = self.handler(
            environ, lambda *start: started.extend(start)
        )
        self.remember_caller(environ)
        status, headers = int(started[0][:3]), encode_headers(started[1])
        if isinstance(response, StreamingHttpResponse) and response.is_async:
            return Answer(status, headers, None, response)
        body = SpooledTemporaryFile(max_size=IN_MEMORY)  # noqa: SIM115  # closed when sent
        try:
            for chunk in response:
                body.write(chunk)
        finally:
            response.close()
        if not any(name == b"content-length" for name, _ in headers):
            headers.append((b"content-length", str(body.tell()).encode()))
        body.seek(0)
        return Answer(status, headers, cast("IO[bytes]", body))


def hash_secrets(environ: dict[str, Any]) -> dict[str, str]:
    """Return digests of a request's key and session, however they are spelled."""
    scheme, _, key = environ.get("HTTP_AUTHORIZATION", "").strip().partition(" ")
    cookies = parse_cookie(environ.get("HTTP_COOKIE", ""))
    secrets = {
        "key": key.strip() if scheme.lower() == "bearer" else "",
        "session": cookies.get(settings.SESSION_COOKIE_NAME, "").strip(),
    }
    return {
        kind: sha256(secret.encode()).hexdigest()
        for kind, secret in secrets.items()
        if secret
    }


def refuse(refusal: Refusal) -> Answer:
    response = ProblemResponse(refusal)
    headers = [(n.lower().encode(), v.encode()) for n, v in response.items()]
    return Answer(response.status_code, headers, io.BytesIO(response.content))


def build_environ(scope: Scope) -> dict[str, Any]:
    reader: Any = WsgiToAsgiInstance(None)  # type: ignore[no-untyped-call]  # as shipped
    reader.scope = scope
    environ: dict[str, Any] = reader.build_environ(scope, None)
    # The bytes as they were sent: Django refuses those that are no UTF-8.
    environ["PATH_INFO"] = unquote_to_bytes(scope["raw_path"]).decode("latin-1")
    return environ


def has_unreadable_body(environ: dict[str, Any]) -> bool:
    """Return whether Django refuses the body by its headers alone."""
    length = environ.get("CONTENT_LENGTH", "0")
    limit = max(settings.BODY_LIMIT, settings.TRANSCRIPT_LIMIT)
    return "HTTP_TRANSFER_ENCODING" in environ or int(length) > limit


async def read_body(receive: Receive, body: IO[bytes] | None) -> None:
    """Write the body into a file, or read it for nothing."""
    while True:
        message = await receive()
        if message["type"] != "http.request":
            raise ClientGone
        if body is not None:
            body.write(message.get("body", b""))
        if not message.get("more_body"):
            return


async def send_answer(answer: Answer, send: Send, *, has_body: bool) -> None:
    start = {"status": answer.status, "headers": answer.headers}
    await send({"type": "http.response.start", **start})
    if has_body and answer.status not in (204, 304):
        async for piece in pieces_of(answer):
            await send({"type": "http.response.body", "body": piece, "more_body": True})
    await send({"type": "http.response.body", "body": b""})


async def pieces_of(answer: Answer) -> AsyncIterator[bytes]:
    if answer.stream is None:
        for piece in answer.pieces():
            yield piece
        return
    events = answer.stream.streaming_content
    try:
        async for piece in cast("AsyncIterator[bytes]", events):
            yield piece
    finally:
        await cast("Any", events).aclose()


def encode_headers(headers: list[tuple[str, str]]) -> list[tuple[bytes, bytes]]:
    return [(name.lower().encode(), value.encode("latin-1")) for name, value in headers]


def close_unsent(work: Future[Answer]) -> None:
    """Close an answer whose client left while it was made."""
    if not work.cancelled() and work.exception() is None:
        work.result().close()


application = Application(wsgi.application)
