"""The public conformance suite of MCP and the Inspector's CLI, against our server."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest
from rest_framework import serializers

from common import errors
from mcp_server.server.tool_call import McpAnswer
from mcp_server.server.tool_server import ServedTool
from mcp_server.tools import TOOLS
from mcp_server.views import server

pytestmark = [
    pytest.mark.slow,
    pytest.mark.django_db(transaction=True),
    pytest.mark.timeout(500),
]
SUITE = "@modelcontextprotocol/conformance/dist/index.js"
INSPECTOR = "@modelcontextprotocol/inspector/clients/launcher/build/index.js"
HERE = Path(__file__).parent
# What both eras require of every server that has tools.
PASSED = ("tools-list", "tools-call-simple-text", "tools-call-error")
PASSED += ("dns-rebinding-protection",)


class Nothing(serializers.Serializer):
    """The arguments and the data of the suite's own tools."""


def fail(call):
    raise errors.Invalid("This tool always fails.")


# The suite calls these tools of its own; our server serves them in this test.
DIAGNOSTIC = (
    ServedTool(
        "test_simple_text",
        "Text",
        "A text.",
        Nothing,
        Nothing,
        lambda call: McpAnswer({}, "This is a simple text response for testing."),
    ),
    ServedTool("test_error_handling", "Error", "An error.", Nothing, Nothing, fail),
)


@pytest.fixture
def diagnostic_tools(monkeypatch):
    monkeypatch.setattr(server, "served", dict(server.served))
    monkeypatch.setattr(server, "_tools", dict(server._tools))
    for tool in DIAGNOSTIC:
        server.add(tool)


def run(node_modules, script, *arguments):
    command = [node_modules / ".bin" / "node", node_modules / script, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("revision", ["2025-11-25", "2026-07-28"])
def test_the_conformance_suite_finds_no_failure_of_what_is_offered(
    node_modules, keyed_url, diagnostic_tools, tmp_path, revision
):
    left_out = HERE / f"mcp_conformance_{revision}.yaml"
    code, text, errors_text = run(
        node_modules,
        SUITE,
        *("server", "--url", keyed_url, "--requirements", revision),
        *("--expected-failures", left_out, "-o", tmp_path),
    )

    assert code == 0, text[text.find("=== SUMMARY") :] + errors_text
    assert set(PASSED) <= set(re.findall(r"✓ ([\w-]+):", text))


class TestInspector:
    @pytest.fixture
    def ask(self, node_modules, live_server, secret):
        def ask(method, *more):
            code, text, errors_text = run(
                node_modules,
                INSPECTOR,
                *("--cli", f"{live_server.url}/mcp", "--transport", "http"),
                *("--header", f"Authorization: Bearer {secret}"),
                *("--method", method, *more),
            )
            assert code == 0, errors_text
            return json.loads(text)

        return ask

    def test_it_lists_every_tool(self, ask):
        listed = ask("tools/list")["tools"]

        assert {tool["name"] for tool in listed} == {tool.name for tool in TOOLS}

    def test_it_calls_a_tool(self, ask):
        content = "content=The harbour opens at high tide."
        call = ("tools/call", "--tool-name", "remember", "--tool-arg", content)

        assert ask(*call)["structuredContent"]["status"] == "stored"
