"""An HTTP server on loopback that answers as a test says, and keeps what it was sent."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass(frozen=True)
class Received:
    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self):
        return json.loads(self.body)


@dataclass
class Scripted:
    """An answer; `pieces` are sent one after the other, without a Content-Length."""

    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    pieces: Iterable[bytes] | None = None


Script = Callable[[Received], Scripted]


class ScriptedServer:
    def __init__(self) -> None:
        self.script: Script = lambda received: Scripted(body=b"fine")
        self.received: list[Received] = []
        # A slow answer waits for the end of the test instead of sleeping.
        self.ended = threading.Event()

    def answers(self, status=200, body=b"", **headers):
        """Answer every request in this way."""
        content = body.encode() if isinstance(body, str) else body
        names = {name.replace("_", "-"): value for name, value in headers.items()}
        self.script = lambda received: Scripted(status, content, names)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def last(self) -> Received:
        return self.received[-1]


@contextmanager
def scripted_server():
    server = ScriptedServer()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def handle_any(self):
            length = int(self.headers.get("Content-Length") or 0)
            received = Received(
                self.command,
                self.path,
                {name.lower(): value for name, value in self.headers.items()},
                self.rfile.read(length),
            )
            server.received.append(received)
            with suppress(BrokenPipeError, ConnectionResetError):
                self.send(server.script(received))

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = handle_any

        def send(self, answer):
            self.send_response(answer.status)
            for name, value in answer.headers.items():
                self.send_header(name, value)
            if answer.pieces is None:
                self.send_header("Content-Length", str(len(answer.body)))
                self.end_headers()
                self.wfile.write(answer.body)
                return
            self.send_header("Connection", "close")
            self.end_headers()
            self.close_connection = True
            for piece in answer.pieces:
                self.wfile.write(piece)
                self.wfile.flush()

        def log_message(self, *args):
            pass

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    http.daemon_threads = True
    server.port = http.server_address[1]
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.ended.set()
        http.shutdown()
        http.server_close()
        thread.join()
