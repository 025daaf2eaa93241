from __future__ import annotations

import pytest

from tests.agents.conftest import learn as learn
from tests.agents.conftest import model as model
from tests.conversations.conftest import SessionApi
from tests.memories.conftest import options as options


@pytest.fixture
def api(alice_api, project):
    """Alice's client, which names the project in each request."""
    return SessionApi(alice_api, project)


@pytest.fixture
def on_row(alice_api):
    """Send a request about a row, which names no project: `on_row("get", "memories/…")`."""

    def send(method, path, **body):
        return getattr(alice_api, method)(f"/api/v1/{path}", body or None)

    return send


@pytest.fixture
def remember(api):
    """Store a memory; return it as the API shows it."""

    def post(content, **fields):
        fields = {"memory_type": "learning", **fields}
        return api.post("memories", content=content, **fields).json()["memory"]

    return post


@pytest.fixture
def finish(api):
    """Report a finished task; return the answer."""

    def post(goal, result="It is done and the tests pass.", **fields):
        fields = {"agent_id": "coder", "tool_usage": [], "feedback": "", **fields}
        return api.post("complete-task", goal=goal, result=result, **fields).json()

    return post
