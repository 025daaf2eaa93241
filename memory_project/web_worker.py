"""The worker of gunicorn in which no connection can keep others from being served.

Built on gunicorn's own asyncio worker, which has no deadline for heads, bodies and readers.
"""

from __future__ import annotations

import asyncio
import os
import resource
from asyncio import TimerHandle
from typing import Any

from gunicorn.asgi.protocol import ASGIProtocol
from gunicorn.workers.gasgi import ASGIWorker

from common.api.problem import ProblemResponse, SlowRequest

HEAD_SECONDS = 15.0  # from the connection to the last byte of its first head
BODY_SECONDS = 30.0  # from the last byte of the head to that of the body, and a second
BYTES_PER_SECOND = 32 * 1024  # for so many bytes of the body
READ_SECONDS = (
    30.0  # in which a client must read something of an answer that waits for it
)
END_SECONDS = 5.0  # in which the end of an answer must be read
# Beyond these, what has waited for longest for its client is closed.
MAX_CONNECTIONS = 2_000  # of one process
MAX_UNFINISHED = 512 * 1024 * 1024  # bytes of bodies without an end, in one process
OTHER_FILES = 200  # the database, Redis, logs, temporary files
LOOK_SECONDS = 0.25


class Connection(ASGIProtocol):  # type: ignore[misc]  # gunicorn has no types
    """A connection that ends if its client keeps it waiting."""

    def __init__(self, worker: WebWorker) -> None:
        super().__init__(worker)
        self.received = 0  # bytes of a body without an end
        self.request_timer: TimerHandle | None = None
        self.reader_timer: TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self.wait_for_client(HEAD_SECONDS)
        self.worker.close_longest_waiting()

    def _on_headers_complete(self) -> Any:
        self.stop_waiting()
        is_skipped = super()._on_headers_complete()
        length = self._current_request.content_length or 0
        self.wait_for_client(BODY_SECONDS + length / BYTES_PER_SECOND)
        return is_skipped

    def _on_body(self, chunk: bytes) -> None:
        super()._on_body(chunk)
        self.received += len(chunk)
        self.worker.unfinished += len(chunk)
        self.worker.close_longest_waiting()

    def _on_message_complete(self) -> Any:
        self.stop_waiting()
        return super()._on_message_complete()

    def _arm_keepalive_timer(self) -> None:
        super()._arm_keepalive_timer()
        self.worker.waiting[self] = None

    def wait_for_client(self, seconds: float) -> None:
        self.worker.waiting[self] = None
        self.request_timer = self.worker.loop.call_later(seconds, self.refuse_slow)

    def stop_waiting(self) -> None:
        self.worker.waiting.pop(self, None)
        self.worker.unfinished -= self.received
        self.received = 0
        if self.request_timer:
            self.request_timer.cancel()

    def refuse_slow(self) -> None:
        """Answer that the request came too slowly, unless it has been answered already."""
        if self.received or self._current_request or self._callback_parser._buffer:
            refusal = ProblemResponse(SlowRequest())
            head = f"HTTP/1.1 408 Request Timeout\r\n{refusal.serialize_headers().decode()}"
            length = f"\r\nContent-Length: {len(refusal.content)}\r\nConnection: close"
            self._safe_write(f"{head}{length}\r\n\r\n".encode() + refusal.content)
        self._close_transport()

    def pause_writing(self) -> None:
        super().pause_writing()
        abort = self.transport.abort
        self.reader_timer = self.worker.loop.call_later(READ_SECONDS, abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        if self.reader_timer:
            self.reader_timer.cancel()

    def _close_transport(self) -> None:
        super()._close_transport()
        self.worker.loop.call_later(END_SECONDS, self.transport.abort)

    def connection_lost(self, exc: Exception | None) -> None:
        self.stop_waiting()
        if self.reader_timer:
            self.reader_timer.cancel()
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
        if (
            self.nr_conns > self.max_connections or self.unfinished > MAX_UNFINISHED
        ) and self.waiting:
            longest = next(iter(self.waiting))
            longest.stop_waiting()
            longest._close_transport()

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
