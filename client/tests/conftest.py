"""A home, a repository, and a scripted server on loopback."""

from __future__ import annotations

import json
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from agent_memory import connections
from agent_memory.connections import Connection, Connections


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A home folder of its own, in which nothing is installed."""
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    for name in (
        "XDG_CONFIG_HOME",
        "CLAUDE_CONFIG_DIR",
        "CODEX_HOME",
        "AGENT_MEMORY_HOME",
    ):
        monkeypatch.delenv(name, raising=False)
    for name in (
        "COPILOT_HOME",
        "GEMINI_CLI_HOME",
        "AGENT_MEMORY_URL",
        "AGENT_MEMORY_KEY",
    ):
        monkeypatch.delenv(name, raising=False)
    return folder


def git(folder, *arguments):
    identity = ["-c", "user.name=Alice", "-c", "user.email=alice@example.test"]
    subprocess.run(
        ["git", "-C", folder, *identity, *arguments], check=True, capture_output=True
    )


@pytest.fixture
def repository(tmp_path):
    """A repository named `shop`, with one commit on the branch `main`."""
    folder = tmp_path / "shop"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    (folder / "prices.py").write_text("CENTS = 100\n")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "First")
    return folder


class Server:
    """Answers each request by `answer(method, path, headers, body)`, and keeps them."""

    def __init__(self):
        self.requests = []
        self.answer = lambda *_: (200, {}, {})
        owner = self

        class Handler(BaseHTTPRequestHandler):
            def handle_any(self):
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                owner.requests.append(
                    (self.command, self.path, dict(self.headers), body)
                )
                status, headers, data = owner.answer(*owner.requests[-1])
                content = data if isinstance(data, bytes) else json.dumps(data).encode()
                self.send_response(status)
                for name, value in {
                    "Content-Type": "application/json",
                    **headers,
                }.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            do_GET = do_POST = do_DELETE = do_PATCH = handle_any

            def log_message(self, *_):
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.http.server_port}"
        threading.Thread(
            target=self.http.serve_forever, args=(0.01,), daemon=True
        ).start()

    def close(self):
        self.http.shutdown()
        self.http.server_close()


@pytest.fixture
def server():
    made = Server()
    yield made
    made.close()


@pytest.fixture
def connection(home, repository, server):
    """The repository is connected to the scripted server."""
    entry = Connection(
        repository=str(repository / ".git"),
        path="",
        server=server.url,
        project="shop",
        project_id="p1",
        key="am_writer",
        harnesses=("claude-code", "codex"),
    )
    connections.write(Connections((entry,)))
    return entry
