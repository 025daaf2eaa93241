from __future__ import annotations

import pytest

from agents.tools.tool import ToolContext
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

    def put_http(self, name, url, method="GET", arguments=(), **fields):
        """Define an HTTP tool; `headers`, `query` and `body` belong to its definition."""
        definition = {"method": method, "url": url}
        for part in ("headers", "query", "body"):
            if part in fields:
                definition[part] = fields.pop(part)
        declared = [
            each if isinstance(each, dict) else {"name": each} for each in arguments
        ]
        return self.put(
            name, kind="http", definition=definition, arguments=declared, **fields
        )

    def put_secret(self, name, value):
        answer = self.send("put", f"secrets/{name}", value=value)
        assert answer.status_code == 200, answer.json()
        return answer.json()

    def try_tool(self, name, tool="", **arguments):
        answer = self.send("post", f"tools/{name}/try", arguments=arguments, tool=tool)
        assert answer.status_code == 200, answer.json()
        return answer.json()
