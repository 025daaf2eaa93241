"""Where the published clients and suites are, and a server for them.

They come from npm and are not installed by the tests. Without them, these tests are skipped:

    npm i --prefix FOLDER node@22 @modelcontextprotocol/conformance@0.2.0-alpha.12 \
        @modelcontextprotocol/inspector@2.12.0 @openai/codex@0.169.0
    OUTSIDE_NODE=FOLDER bin/test tests/outside
"""

from __future__ import annotations

import os
import threading
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from access.models import ApiKey
from common.caller import Role


def find_modules(package):
    """Return the folder `node_modules`; skip the test if it does not have the package."""
    named = os.environ.get("OUTSIDE_NODE", "")
    folder = Path(named).resolve() / "node_modules"
    if not named or not (folder / package).exists():
        pytest.skip(f"OUTSIDE_NODE names no folder with npm's {package}.")
    return folder


@pytest.fixture(scope="session")
def node_modules():
    """The folder `node_modules` with Node 22 and the clients and suites of MCP."""
    return find_modules("@modelcontextprotocol")


@pytest.fixture(scope="session")
def codex():
    """The program Codex."""
    return find_modules("@openai/codex") / ".bin" / "codex"


@pytest.fixture
def secret(project):
    """The secret of a writer's key of the project."""
    key, secret = ApiKey.new(name="outside", role=Role.WRITER)
    key.save()
    key.projects.set([project])
    return secret


@pytest.fixture
def keyed_url(live_server, secret):
    """The address of a proxy that adds the key, for clients that can send none."""
    proxy = ThreadingHTTPServer(("127.0.0.1", 0), handler_of(live_server.url, secret))
    thread = threading.Thread(target=proxy.serve_forever, daemon=True)
    thread.start()
    yield f"http://localhost:{proxy.server_port}/mcp"
    proxy.shutdown()
    proxy.server_close()
    thread.join()


def handler_of(url, secret):
    place = urlsplit(url)

    class Handler(BaseHTTPRequestHandler):
        def forward(self):
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            headers = dict(self.headers) | {"Authorization": f"Bearer {secret}"}
            link = HTTPConnection(place.hostname, place.port)
            link.request(self.command, self.path, body, headers)
            answer = link.getresponse()
            text = answer.read()
            link.close()
            self.send_response(answer.status)
            for name, value in answer.getheaders():
                if name not in ("Connection", "Content-Length", "Server", "Date"):
                    self.send_header(name, value)
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        do_POST = do_GET = do_DELETE = forward

        def log_message(self, *parts):
            """Keep quiet: a failing test shows the output of the client."""

    return Handler
