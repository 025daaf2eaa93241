"""The official Python client lists and calls every tool, in both eras of the protocol."""

from __future__ import annotations

import asyncio

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from access.models import ApiKey
from common.caller import Role
from tests.mcp_server.conftest import LEGACY, NEWEST

pytestmark = pytest.mark.django_db(transaction=True)
RULE = {
    "text": "Run the harbour tests with `make tide` before you deploy.",
    "evidence": "The harbour tests ran with `make tide` before we could deploy.",
}
TASK = {"goal": "Deploy the harbour", "result": "Deployed", "outcome": "success"}


@pytest.fixture
def url_and_key(live_server, project, alice_api):
    body = {"project_id": str(project.pk), "content": "Lock the crane at night."}
    alice_api.post("/api/v1/playbook/rules", body | {"category": "gotchas"})
    key, secret = ApiKey.new(name="agent", role=Role.WRITER)
    key.save()
    key.projects.set([project])
    return f"{live_server.url}/mcp", secret


@pytest.mark.parametrize("version", [LEGACY, NEWEST])
def test_it_lists_and_calls_every_tool(url_and_key, version):
    url, secret = url_and_key

    listed, called = asyncio.run(call_all(url, secret, version))

    assert listed == called


async def call_all(url, secret, version):
    """Return the names of the listed tools, and of those that answered without an error."""
    http = httpx2.AsyncClient(headers={"Authorization": f"Bearer {secret}"})
    mode = "legacy" if version == LEGACY else "auto"
    async with (
        http,
        Client(streamable_http_client(url, http_client=http), mode=mode) as client,
    ):
        listed = {tool.name for tool in (await client.list_tools()).tools}
        called = set()

        async def call(name, **arguments):
            # The client checks the data against the output schema of the tool.
            result = await client.call_tool(name, arguments)
            assert not result.is_error, (name, result)
            called.add(name)
            return result.structured_content

        stored = await call("remember", content="The harbour opens at high tide.")
        await call("search", query="When does the harbour open?")
        await call("fetch", id=stored["id"])
        given = await call("context", task="Lock the crane")
        vote = {"vote": "helpful", "note": "It is locked."}
        await call("feedback", id=given["rules"][0]["label"], **vote)
        proposed = await call("propose_rule", **RULE)
        await call("complete_task", **TASK)
        await call("forget", id=stored["id"], reason="It opens earlier now.")
        event = {"hook_event_name": "SessionStart", "session_id": "s1", "cwd": "/app"}
        await call("hook", harness="claude-code", payload=event)
        assert proposed["url"].startswith("http")
        return listed, called
