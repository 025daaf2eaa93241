"""The worker of gunicorn in which no connection can keep others from being served.

Built on gunicorn's own asyncio worker, which has no deadline for heads, bodies and readers.
"""

from __future__ import annotations

import asyncio
import os
import resource
from asyncio import TimerHandle
from collections import Counter
from collections.abc import Callable
from enum import Enum, auto
from typing import Any

from gunicorn.asgi.protocol import ASGIProtocol
from gunicorn.workers.gasgi import ASGIWorker

from common.address import client_network
from common.api.problem import (
    BrokenRequest,
    InternalFailure,
    ProblemResponse,
    SlowRequest,
)
from common.errors import Refusal
from memory_project.settings import BODY_LIMIT, TRANSCRIPT_LIMIT

HEAD_SECONDS = 15.0  # from the connection to the last byte of its first head
BODY_SECONDS = 30.0  # from the last byte of the head to that of the body, and a second
BYTES_PER_SECOND = 32 * 1024  # for so many bytes of the body
# In which a client must read something of an answer that waits for it, or the end of one.
READ_SECONDS = 30.0
# Beyond these, a connection of the address that has most of them is cut off.
MAX_CONNECTIONS = 2_000  # of one process
MAX_UNFINISHED = 512 * 1024 * 1024  # bytes of bodies without an end, in one process
# A connection may hold a temporary file for its body and another one for its answer.
FILES_OF_ONE, OTHER_FILES = 3, 200
# Bytes of the longest body that is ever read.
LONGEST_BODY = max(BODY_LIMIT, TRANSCRIPT_LIMIT)
LOOK_SECONDS = 0.25


class Wait(Enum):
    """What a connection waits for its client to do."""

    REQUEST = auto()  # send the rest of a head or a body
    IDLE = auto()  # send another request
    READER = auto()  # read some of an answer
    END = auto()  # read the end of the last answer


class Connection(ASGIProtocol):  # type: ignore[misc]  # gunicorn has no types
    """A connection that ends if its client keeps it waiting."""

    def __init__(self, worker: WebWorker) -> None:
        super().__init__(worker)
        self.peer = self.address = ""  # the client is another one behind a proxy
        self.received = 0  # bytes of a body without an end
        self.has_answer = False  # to the present request, at least its head
        # When the client's time to do each of these is over.
        self.timers: dict[Wait, TimerHandle] = {}

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self.peer = (transport.get_extra_info("peername") or [""])[0]
        self.address = client_network({"REMOTE_ADDR": self.peer})
        self.worker.connections[self] = None
        self.wait(Wait.REQUEST, HEAD_SECONDS, self.refuse_slow)
        self.worker.make_room()

    def data_received(self, data: bytes) -> None:
        try:
            super().data_received(data)
        except ValueError as error:  # a Content-Length of thousands of digits
            self.log.warning("A request without a usable head: %s", error)
            self.refuse(BrokenRequest())
            self._close_transport()

    def _on_headers_complete(self) -> Any:
        self.stop_waiting(Wait.REQUEST, Wait.IDLE)
        self.has_answer = False
        is_skipped = super()._on_headers_complete()
        self.address = self.find_client()
        length = min(self._current_request.content_length or 0, LONGEST_BODY)
        seconds = BODY_SECONDS + length / BYTES_PER_SECOND
        self.wait(Wait.REQUEST, seconds, self.refuse_slow)
        return is_skipped

    def find_client(self) -> str:
        """Return the address that the trusted proxies report of the present request."""
        headers = self._current_request.headers
        hops = [value for name, value in headers if name == "X-FORWARDED-FOR"]
        meta = {"REMOTE_ADDR": self.peer, "HTTP_X_FORWARDED_FOR": ",".join(hops)}
        return client_network(meta)

    def _on_body(self, chunk: bytes) -> None:
        super()._on_body(chunk)
        request = self._current_request
        if request.chunked or (request.content_length or 0) > LONGEST_BODY:
            return  # refused already, and read for nothing
        self.received += len(chunk)
        self.worker.unfinished += len(chunk)
        self.worker.make_room()

    def _on_message_complete(self) -> Any:
        self.stop_waiting(Wait.REQUEST)
        self.end_body()
        return super()._on_message_complete()

    def _arm_keepalive_timer(self) -> None:
        self.wait(Wait.IDLE, self._keepalive, self._keepalive_timeout)

    def _send_response_start(self, *args: Any, **kwargs: Any) -> None:
        self.has_answer = True
        super()._send_response_start(*args, **kwargs)

    def wait(self, reason: Wait, seconds: float, act: Callable[[], Any]) -> None:
        """Wait for the client so many seconds, then act."""
        self.stop_waiting(reason)
        self.timers[reason] = self.worker.loop.call_later(seconds, act)
        self.worker.waiting.setdefault(self)

    def stop_waiting(self, *reasons: Wait) -> None:
        for reason in reasons:
            if timer := self.timers.pop(reason, None):
                timer.cancel()
        if not self.timers:
            self.worker.waiting.pop(self, None)

    def end_body(self) -> None:
        self.worker.unfinished -= self.received
        self.received = 0

    def refuse_slow(self) -> None:
        """Answer that the request came too slowly, unless it has been answered already."""
        is_begun = (
            self.received or self._current_request or self._callback_parser._buffer
        )
        if is_begun and not self.has_answer:
            self.refuse(SlowRequest())
        self._close_transport()

    def refuse(self, refusal: Refusal) -> None:
        """Answer without Django, which has not been given the request."""
        answer = ProblemResponse(refusal)
        head = f"HTTP/1.1 {answer.status_code} {answer.reason_phrase}\r\n"
        fields = answer.serialize_headers().decode()
        length = f"\r\nContent-Length: {len(answer.content)}\r\nConnection: close"
        self._safe_write(f"{head}{fields}{length}\r\n\r\n".encode() + answer.content)

    def _send_error_response(self, status: int, message: str, *_: Any) -> None:
        """Answer what gunicorn itself refuses in the form of every other error."""
        self.refuse(InternalFailure() if status == 500 else BrokenRequest(message))

    def pause_writing(self) -> None:
        super().pause_writing()
        self.wait(Wait.READER, READ_SECONDS, self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        self.stop_waiting(Wait.READER)

    def _close_transport(self) -> None:
        if not self._closed:
            self.wait(Wait.END, READ_SECONDS, self.transport.abort)
        super()._close_transport()

    def cut_off(self) -> None:
        """End the connection at once, with what its client has not read."""
        self.stop_waiting(*Wait)
        self.end_body()
        self.worker.connections.pop(self, None)
        self.transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        self.worker.connections.pop(self, None)
        self.stop_waiting(*Wait)
        self.end_body()
        super().connection_lost(exc)

    def _is_websocket_upgrade(self, request: Any) -> bool:
        return False


class WebWorker(ASGIWorker):  # type: ignore[misc]  # gunicorn has no types
    """Serves connections from one loop; `memory_project.asgi` has the threads."""

    # All connections, and those that wait for their client, the longest first; and the bytes
    # of bodies without an end.
    connections: dict[Connection, None]
    waiting: dict[Connection, None]
    unfinished = 0

    @classmethod
    def check_config(cls, cfg: Any, log: Any) -> None:
        """Accept every setting; gunicorn's own worker warns of threads."""

    def init_process(self) -> None:
        self.connections, self.waiting = {}, {}
        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        files = min(most, MAX_CONNECTIONS * FILES_OF_ONE + OTHER_FILES)
        resource.setrlimit(resource.RLIMIT_NOFILE, (files, most))
        self.max_connections = max((files - OTHER_FILES) // FILES_OF_ONE, 1)
        super().init_process()

    def make_room(self) -> None:
        """Cut off a connection of the address that has most of them, or most bytes.

        It is the one that has waited for its client for longest, else the oldest.
        """
        weights = Counter[str]()
        if self.unfinished > MAX_UNFINISHED:
            for each in self.connections:
                weights[each.address] += each.received
        elif len(self.connections) > self.max_connections:
            weights.update(each.address for each in self.connections)
        else:
            return
        address, _ = weights.most_common(1)[0]
        own = [each for each in self.connections if each.address == address]
        waiting = [each for each in self.waiting if each.address == address]
        if self.unfinished > MAX_UNFINISHED:
            own, waiting = ([e for e in some if e.received] for some in (own, waiting))
        for victim in [*waiting, *own][:1]:
            victim.cut_off()

    async def _serve(self) -> None:
        for listener in self.sockets:
            # A small backlog here makes the loop accept few connections at a time, so that
            # the processes share them; the kernel's own queue is long.
            server = await self.loop.create_server(
                lambda: Connection(self), sock=listener.sock, backlog=1
            )
            listener.sock.listen(self.cfg.backlog)
            self.servers.append(server)
        while self.alive and self.ppid == os.getppid():
            self.notify()
            await asyncio.sleep(LOOK_SECONDS)
        for connection in list(self.waiting):
            if connection._current_request is None:
                connection._close_transport()
        await self._shutdown()
