from __future__ import annotations

import pytest
from django.utils import timezone

from agents.models import AgentTool
from agents.tools.choose import choose_tools
from agents.tools.mcp_client import OfferedTool
from agents.tools.server_listing import ServerListing
from agents.tools.tool import ToolContext, ToolFailure
from common.ids import uuid7
from tests.agents.tools.scripted_http import scripted_server


@pytest.fixture
def server(settings):
    """A server on loopback, which the operator allows."""
    with scripted_server() as running:
        settings.TOOL_HOSTS = [f"127.0.0.1:{running.port}"]
        yield running


@pytest.fixture
def tools_api(alice_api, project):
    return ToolsApi(alice_api, project)


@pytest.fixture
def context(project, alice):
    return ToolContext(
        project=project,
        caller=alice,
        user_id="",
        run_id=uuid7(),
        session=None,
        has_memory=False,
    )


@pytest.fixture
def choose(project, alice):
    """Return the tools that a run without memory is offered, by name."""

    def choose():
        found = choose_tools(project, alice, group=[], state="", has_memory=False)
        return {tool.name: tool for tool in found}

    return choose


@pytest.fixture
def call(choose, context):
    """Call a tool as a run does; return the observation that the model reads."""

    def call(name, **arguments):
        try:
            return choose()[name].call(arguments, context)
        except ToolFailure as failure:
            return f"Error: {failure}"

    return call


@pytest.fixture
def put_listed(tools_api):
    """Define a server that has just said that it offers the tool `find`."""

    def put_listed(name, **fields):
        tools_api.put(name, url="https://tickets.example.com/mcp", **fields)
        find = OfferedTool("find", "", (), is_read_only=True)
        listing = ServerListing((find,), timezone.now()).to_dict()
        AgentTool.objects.filter(name=name).update(listing=listing)

    return put_listed


class ToolsApi:
    """A client that names the project in each request."""

    def __init__(self, client, project):
        self.client = client
        self.project = str(project.pk)

    def send(self, method, path, **body):
        url = f"/api/v1/agents/{path}"
        call = getattr(self.client, method)
        body = {"project_id": self.project, **body}
        if method in ("get", "delete"):
            return call(url, query_params=body)
        return call(url, body, format="json")

    def put(self, name, **fields):
        answer = self.send("put", f"tools/{name}", **fields)
        assert answer.status_code == 200, answer.json()
        return answer.json()
