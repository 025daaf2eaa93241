"""A client of the MCP server that posts messages of JSON-RPC through the test client."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from common.caller import Role

LEGACY = "2025-06-18"
NEWEST = "2026-07-28"
META = "io.modelcontextprotocol"


@dataclass
class McpClient:
    """Calls tools as a client of one protocol revision does."""

    api: Any
    path: str = "/mcp"
    version: str = LEGACY

    def post(self, method, params=None, **headers):
        params = dict(params or {})
        sent = {"MCP-Protocol-Version": self.version} | headers
        if self.version == NEWEST:
            params["_meta"] = {
                f"{META}/protocolVersion": NEWEST,
                f"{META}/clientCapabilities": {},
                **params.get("_meta", {}),
            }
            sent |= {"Mcp-Method": method, "Mcp-Name": params.get("name", "")}
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        return self.api.post(self.path, message, headers=sent)

    def ask(self, method, params=None, **headers):
        answer = self.post(method, params, **headers)
        assert answer.status_code == 200, answer.content
        return answer.json()

    def tools(self):
        return {t["name"]: t for t in self.ask("tools/list")["result"]["tools"]}

    def result(self, name, arguments, **headers):
        params = {"name": name, "arguments": arguments}
        return self.ask("tools/call", params, **headers)["result"]

    def call(self, name, /, **arguments):
        """Return the data of an answer that is no error."""
        result = self.result(name, arguments)
        assert not result["isError"], result
        return result["structuredContent"]

    def refusal(self, name, /, **arguments):
        """Return the text of a tool error."""
        result = self.result(name, arguments)
        assert result["isError"], result
        return result["content"][0]["text"]


@pytest.fixture
def mcp_of(client_of):
    """Make a client for a new key: `mcp_of(project, Role.WRITER)`."""

    def make(*projects, role=Role.WRITER, path="/mcp", version=LEGACY, **fields):
        api = client_of(*projects, role=role, **fields)
        return McpClient(api, path, version)

    return make


@pytest.fixture
def bob_mcp(mcp_of, project):
    return mcp_of(project)
