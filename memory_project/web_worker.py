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

from common.api.problem import ProblemResponse, SlowRequest

HEAD_SECONDS = 15.0  # from the connection to the last byte of its first head
BODY_SECONDS = 30.0  # from the last byte of the head to that of the body, and a second
BYTES_PER_SECOND = 32 * 1024  # for so many bytes of the body
# In which a client must read something of an answer that waits for it, or the end of one.
READ_SECONDS = 30.0
# Beyond these, what has waited for longest for its client is closed, at the address that has most.
MAX_CONNECTIONS = 2_000  # of one process
MAX_UNFINISHED = 512 * 1024 * 1024  # bytes of bodies without an end, in one process
OTHER_FILES = 200  # the database, Redis, logs, temporary files
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
        self.address = ""
        self.received = 0  # bytes of a body without an end
        self.has_answer = False  # to the present request, at least its head
        # When the client's time to do each of these is over.
        self.timers: dict[Wait, TimerHandle] = {}

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self.address = (transport.get_extra_info("peername") or [""])[0]
        self.wait(Wait.REQUEST, HEAD_SECONDS, self.refuse_slow)
        self.worker.close_longest_waiting()

    def _on_headers_complete(self) -> Any:
        self.stop_waiting(Wait.REQUEST, Wait.IDLE)
        self.has_answer = False
        is_skipped = super()._on_headers_complete()
        length = self._current_request.content_length or 0
        seconds = BODY_SECONDS + length / BYTES_PER_SECOND
        self.wait(Wait.REQUEST, seconds, self.refuse_slow)
        return is_skipped

    def _on_body(self, chunk: bytes) -> None:
        super()._on_body(chunk)
        self.received += len(chunk)
        self.worker.unfinished += len(chunk)
        self.worker.close_longest_waiting()

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
            refusal = ProblemResponse(SlowRequest())
            head = f"HTTP/1.1 408 Request Timeout\r\n{refusal.serialize_headers().decode()}"
            length = f"\r\nContent-Length: {len(refusal.content)}\r\nConnection: close"
            self._safe_write(f"{head}{length}\r\n\r\n".encode() + refusal.content)
        self._close_transport()

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
        self.transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        self.stop_waiting(*Wait)
        self.end_body()
        super().connection_lost(exc)

    def _is_websocket_upgrade(self, request: Any) -> bool:
        return False


class WebWorker(ASGIWorker):  # type: ignore[misc]  # gunicorn has no types
    """Serves connections from one loop; `memory_project.asgi` has the threads."""

    # Those that wait for their client, the longest first; and the bytes that they sent.
    waiting: dict[Connection, None]
    unfinished = 0

    @classmethod
    def check_config(cls, cfg: Any, log: Any) -> None:
        """Accept every setting; gunicorn's own worker warns of threads."""

    def init_process(self) -> None:
        self.waiting = {}
        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        files = min(most, MAX_CONNECTIONS + OTHER_FILES)
        resource.setrlimit(resource.RLIMIT_NOFILE, (files, most))
        self.max_connections = files - OTHER_FILES
        super().init_process()

    def close_longest_waiting(self) -> None:
        """Cut off one of those that wait, of the address that has most of them."""
        if self.unfinished > MAX_UNFINISHED:
            waiting = [each for each in self.waiting if each.received]
        elif self.nr_conns > self.max_connections:
            waiting = list(self.waiting)
        else:
            return
        counts = Counter(each.address for each in waiting)
        if counts:
            most = max(counts.values())
            next(each for each in waiting if counts[each.address] == most).cut_off()

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
