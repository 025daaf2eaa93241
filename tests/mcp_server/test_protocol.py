"""Both eras of the protocol, who may call, and what a client is told of the tools."""

from __future__ import annotations

import json

import pytest
from rest_framework.test import APIClient

from audit.models import AuditEvent
from common.caller import Role
from inference import tokens
from mcp_server.tools import TOOLS
from mcp_server.views import INSTRUCTIONS, MAX_BODY
from tests.mcp_server.conftest import LEGACY, NEWEST, McpClient

pytestmark = pytest.mark.django_db
WRITES = {"remember", "forget", "complete_task", "feedback", "propose_rule"}
BOTH = pytest.mark.parametrize("version", [LEGACY, "2025-11-25", NEWEST])
HELLO = {"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": {"name": "t"}}


class TestProtocol:
    @pytest.mark.parametrize("version", [LEGACY, "2025-11-25"])
    def test_initialize_answers_the_revision_that_the_client_asks_for(
        self, bob_mcp, version
    ):
        result = bob_mcp.ask("initialize", HELLO | {"protocolVersion": version})

        assert result["result"]["protocolVersion"] == version
        assert result["result"]["instructions"] == INSTRUCTIONS

    def test_discover_names_both_eras(self, mcp_of, project):
        found = mcp_of(project, version=NEWEST).ask("server/discover")["result"]

        assert {LEGACY, NEWEST} <= set(found["supportedVersions"])

    @BOTH
    def test_every_revision_calls_a_tool(self, mcp_of, project, version):
        client = mcp_of(project, version=version)

        assert client.call("search", query="the tide")["results"] == []

    def test_the_instructions_have_four_sentences(self):
        assert INSTRUCTIONS.count(". ") + 1 == 4

    def test_a_get_is_refused(self, bob_mcp):
        assert bob_mcp.api.get("/mcp").status_code == 405

    def test_a_message_over_the_limit_is_refused(self, bob_mcp):
        answer = bob_mcp.post("tools/list", {"pad": "x" * MAX_BODY})

        assert answer.status_code == 413

    @pytest.mark.parametrize("depth", [100, 100_000])
    def test_a_message_that_is_nested_too_deep_is_refused(self, bob_mcp, depth):
        body = '{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": '
        nested = "[" * depth + "]" * depth
        body += f'"search", "arguments": {{"query": {nested}}}}}}}'
        answer = bob_mcp.api.post("/mcp", body, content_type="application/json")

        assert b"nested" in answer.content

    def test_a_message_that_is_no_json_is_a_parse_error(self, bob_mcp):
        answer = bob_mcp.api.post("/mcp", "{", content_type="application/json")

        assert (answer.status_code, answer.json()["error"]["code"]) == (400, -32700)


class TestWhoMayCall:
    def test_a_call_without_a_key_is_challenged(self, project):
        answer = McpClient(APIClient()).post("tools/list")

        assert answer.status_code == 401
        assert answer["WWW-Authenticate"] == "Bearer"

    def test_an_unknown_key_is_challenged_and_audited(self, project):
        client = APIClient()
        client.credentials(HTTP_AUTHORIZATION="Bearer am_unknown")

        assert McpClient(client).post("tools/list").status_code == 401
        assert AuditEvent.objects.filter(verb="access.refused").exists()

    def test_a_signed_in_browser_is_no_key(self, project, admin_user):
        client = APIClient()
        client.force_login(admin_user)

        assert McpClient(client).post("tools/list").status_code == 401

    def test_a_foreign_origin_is_refused(self, bob_mcp):
        answer = bob_mcp.post("tools/list", Origin="https://evil.example")

        assert answer.status_code == 403

    def test_the_origin_of_the_service_is_accepted(self, bob_mcp, settings):
        settings.ALLOWED_HOSTS = ["testserver", "memory.example"]

        bob_mcp.ask("tools/list", Origin="https://memory.example")

    def test_a_key_of_several_projects_names_one(self, mcp_of, project, other_project):
        several = mcp_of(project, other_project)

        assert several.post("tools/list").json()["code"] == "project_unnamed"
        several.path = f"/mcp/{project.name}"
        assert several.tools()

    def test_a_project_is_named_by_its_id_or_by_a_name_with_slashes(
        self, mcp_of, project
    ):
        project.name = "acme/billing"
        project.save()
        for name in (project.pk, project.name):
            assert mcp_of(project, path=f"/mcp/{name}").tools()

    def test_the_project_of_somebody_else_is_not_found(
        self, mcp_of, project, other_project
    ):
        stranger = mcp_of(other_project, path=f"/mcp/{project.name}")

        assert stranger.post("tools/list").status_code == 404

    def test_requests_count_against_the_rate_of_the_key(self, bob_mcp, settings):
        settings.THROTTLE_KEY = "2/day"
        answers = [bob_mcp.post("tools/list") for _ in range(3)]

        assert [each.status_code for each in answers] == [200, 200, 429]
        assert answers[0]["X-RateLimit-Remaining"] == "1"
        assert int(answers[2]["Retry-After"]) > 0

    def test_requests_without_a_key_count_against_the_rate_of_the_address(
        self, project, settings
    ):
        settings.THROTTLE_ANONYMOUS = "1/day"
        client = McpClient(APIClient(REMOTE_ADDR="203.0.113.77"))

        assert client.post("tools/list").status_code == 401
        assert client.post("tools/list").status_code == 429


class TestRoles:
    def test_a_writer_sees_every_tool(self, bob_mcp):
        assert set(bob_mcp.tools()) == {tool.name for tool in TOOLS}

    def test_a_viewer_sees_only_reads_and_the_hook(self, mcp_of, project):
        tools = mcp_of(project, role=Role.VIEWER).tools()

        assert set(tools) == {tool.name for tool in TOOLS} - WRITES
        reads = {n for n, t in tools.items() if t["annotations"]["readOnlyHint"]}
        assert reads == {"context", "search", "fetch"}

    @pytest.mark.parametrize("name", sorted(WRITES))
    def test_a_viewer_cannot_call_a_write(self, mcp_of, project, name):
        viewer = mcp_of(project, role=Role.VIEWER)
        answer = viewer.ask("tools/call", {"name": name, "arguments": {}})

        assert "Unknown tool" in answer["error"]["message"]
        refused = AuditEvent.objects.get(verb="access.refused")
        assert refused.project_id == project.pk


class TestListOfTools:
    def test_it_takes_few_tokens(self, bob_mcp):
        listed = bob_mcp.ask("tools/list")["result"]

        assert len(listed["tools"]) <= 10
        assert tokens.estimate(json.dumps(listed, ensure_ascii=False)) <= 2_500

    @pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
    def test_each_tool_has_annotations_and_schemas(self, bob_mcp, tool):
        told = bob_mcp.tools()[tool.name]

        assert set(told["annotations"]) == {
            *("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")
        }
        assert told["inputSchema"]["additionalProperties"] is False
        assert set(told["inputSchema"]["properties"]) == set(tool.arguments().fields)
        assert set(told["outputSchema"]["properties"]) == set(tool.answer().fields)
        assert told["title"] and told["description"]


class TestErrors:
    def test_it_has_the_code_and_the_wrong_fields(self, bob_mcp):
        text = bob_mcp.refusal("search", query="x", limit=99)

        assert text.startswith("invalid: ")
        assert "limit: " in text and "50" in text

    def test_an_unknown_argument_names_the_nearest_known_one(self, bob_mcp):
        text = bob_mcp.refusal("search", query="x", tag=["a"])

        assert text.startswith("unknown_field: ")
        assert "did you mean `tags`?" in text

    def test_a_fault_of_the_service_tells_no_details(self, bob_mcp, monkeypatch):
        def fail(*_):
            raise ValueError("secret details")

        monkeypatch.setattr("mcp_server.server.tool_server.call_of", fail)
        text = bob_mcp.refusal("search", query="x")

        assert text.startswith("internal: ")
        assert "secret details" not in text
