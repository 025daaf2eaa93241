from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from inference.embedding import active_model


class Endpoint:
    """A model server on loopback that answers what the test scripts."""

    def __init__(self):
        self.requests: list[dict] = []
        self.authorizations: list[str | None] = []
        self.answer: Callable[[dict], object] = lambda body: {}
        self.status = 200
        self.answer_headers: dict[str, str] = {}
        self.ended = threading.Event()

    def hang(self, body):
        self.ended.wait(30)
        return {}


def handler_of(endpoint):
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            size = int(self.headers["Content-Length"])
            body = json.loads(self.rfile.read(size))
            endpoint.requests.append({"path": self.path, **body})
            endpoint.authorizations.append(self.headers["Authorization"])
            answer = endpoint.answer(body)
            content = answer if isinstance(answer, bytes) else json.dumps(answer)
            if isinstance(content, str):
                content = content.encode()
            try:
                self.respond(content)
            except ConnectionError:
                pass  # the client gave up, as the test wants

        def respond(self, content):
            self.send_response(endpoint.status)
            for name, value in endpoint.answer_headers.items():
                self.send_header(name, value)
            self.end_headers()
            if "drip" in endpoint.answer_headers:
                while not endpoint.ended.wait(0.02):
                    self.wfile.write(b" ")
                    self.wfile.flush()
            self.wfile.write(content)

        def log_message(self, format, *args):
            pass

    return Handler


@pytest.fixture
def endpoint(monkeypatch) -> Iterator[Endpoint]:
    # A proxy of the surroundings must not be asked for loopback.
    monkeypatch.setenv("NO_PROXY", "*")
    endpoint = Endpoint()
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler_of(endpoint))
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    endpoint.url = f"http://127.0.0.1:{server.server_port}/v1"
    yield endpoint
    endpoint.ended.set()
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def refusing_url() -> str:
    """An address that nobody listens on."""
    with ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler) as server:
        return f"http://127.0.0.1:{server.server_port}/v1"


@pytest.fixture(autouse=True)
def no_remembered_queries():
    active_model.forget_queries()
    yield
    active_model.forget_queries()
