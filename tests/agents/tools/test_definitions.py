"""Only owners define tools, and a wrong definition is refused with the mend."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection

from agents.models import AgentTool
from agents.tools import definitions
from audit.models import AuditEvent
from common.caller import Role
from tests.agents.tools.conftest import ToolsApi

pytestmark = pytest.mark.django_db
URL = "https://tickets.example.com/t"
BODY = {"kind": "http", "definition": {"method": "GET", "url": URL}}


class TestLifecycle:
    def test_it_is_created_read_replaced_and_deleted(self, tools_api):
        created = tools_api.send("post", "tools", name="t", description="One", **BODY)
        assert created.status_code == 201
        assert created.json()["error"] is None

        tools_api.put("t", description="Two", **BODY)
        read = tools_api.send("get", "tools/t").json()
        deleted = tools_api.send("delete", "tools/t")

        assert read["description"] == "Two"
        assert deleted.status_code == 204
        assert tools_api.send("get", "tools/t").status_code == 404
        assert AgentTool.objects.count() == 0

    def test_a_put_replaces_what_it_leaves_out(self, tools_api):
        tools_api.put("t", **BODY, timeout=5, confirm="auto", groups=["a"])

        found = tools_api.put("t", **BODY)

        assert (found["timeout"], found["confirm"]) == (30.0, "ask")
        assert found["groups"] == ["default"]

    def test_a_taken_name_is_a_conflict(self, tools_api):
        tools_api.put("t", **BODY)

        answer = tools_api.send("post", "tools", name="t", **BODY)

        assert answer.status_code == 409
        assert answer.json()["code"] == "tool_exists"
        assert answer.json()["error"]["type"] == "tool_exists"

    def test_a_repeated_request_creates_one(self, tools_api):
        key = {"HTTP_IDEMPOTENCY_KEY": "once"}
        body = {"project_id": tools_api.project, "name": "t", **BODY}
        first, again = (
            tools_api.client.post("/api/v1/agents/tools", body, format="json", **key)
            for _ in range(2)
        )

        assert first.json() == again.json()
        assert (first.status_code, again.status_code) == (201, 201)

    def test_each_change_is_audited(self, tools_api):
        tools_api.put("t", **BODY)
        tools_api.send("delete", "tools/t")

        verbs = AuditEvent.objects.filter(object_type="agent_tool").order_by("pk")
        assert [row.verb for row in verbs] == ["agent_tool.put", "agent_tool.delete"]
        assert verbs[0].detail["name"] == "t"

    def test_there_is_a_most(self, tools_api, monkeypatch):
        monkeypatch.setattr(definitions, "MAX_TOOLS", 1)
        tools_api.put("t", **BODY)

        tools_api.put("t", **BODY)
        answer = tools_api.send("post", "tools", name="u", **BODY)

        assert answer.json()["code"] == "too_many_tools"


class TestWhoMay:
    @pytest.mark.parametrize("role", [Role.VIEWER, Role.WRITER, Role.CURATOR])
    def test_members_read_and_do_not_write(self, tools_api, client_of, project, role):
        tools_api.put("t", **BODY)
        member = ToolsApi(client_of(project, role=role), project)

        assert member.send("get", "tools").json()["tools"][0]["name"] == "t"
        assert member.send("get", "tools/t").status_code == 200
        for method, path, body in (
            ("put", "tools/t", BODY),
            ("post", "tools", {"name": "u", **BODY}),
            ("delete", "tools/t", {}),
            ("post", "tools/t/try", {}),
        ):
            assert member.send(method, path, **body).status_code == 403, (method, path)

    @pytest.mark.parametrize("bound", [{"user_id": "u1"}, {"agent_id": "a1"}])
    def test_a_bound_key_of_an_owner_does_not_write(
        self, tools_api, client_of, project, bound
    ):
        tools_api.put("t", **BODY)
        key = ToolsApi(client_of(project, role=Role.OWNER, **bound), project)

        assert key.send("get", "tools/t").status_code == 200
        for method, path, body in (
            ("put", "tools/t", BODY),
            ("delete", "tools/t", {}),
            ("post", "tools/t/try", {}),
            ("put", "secrets/s", {"value": "0123456789"}),
        ):
            assert key.send(method, path, **body).status_code == 403, (method, path)

    def test_charlie_finds_nothing(self, tools_api, charlie_api, project):
        tools_api.put("t", **BODY)
        charlie = ToolsApi(charlie_api, project)

        for method, path, body in (
            ("get", "tools", {}),
            ("get", "tools/t", {}),
            ("put", "tools/t", BODY),
            ("post", "tools/t/try", {}),
            ("get", "secrets/s", {}),
        ):
            assert charlie.send(method, path, **body).status_code == 404, (method, path)


def refusal(api, name="t", **changes):
    """Return the fields that a refusal names, with its messages."""
    body = {**BODY, **changes}
    answer = api.send("put", f"tools/{name}", **body)
    assert answer.status_code == 400, answer.json()
    return answer.json()["errors"]


class TestFaults:
    @pytest.mark.parametrize(
        ("definition", "field"),
        [
            ({"url": URL}, "definition.method"),
            ({"method": "HEAD", "url": URL}, "definition.method"),
            ({"method": "GET"}, "definition.url"),
            ({"method": "GET", "url": "ftp://a.example"}, "definition.url"),
            ({"method": "GET", "url": "https://u:p@a.example/"}, "definition.url"),
            ({"method": "GET", "url": "https://{host}/"}, "definition.url"),
            ({"method": "GET", "url": "https://a.example:{port}/"}, "definition.url"),
            ({"method": "GET", "url": f"{URL}/{{nobody}}"}, "definition.url"),
            ({"method": "GET", "url": f"{URL}/{{secret:s}}"}, "definition.url"),
            ({"method": "GET", "url": f"{URL}/{{"}, "definition.url"),
            ({"method": "GET", "url": f"{URL}#a"}, "definition.url"),
            ({"method": "GET", "url": URL, "body": {}}, "definition.body"),
            (
                {"method": "GET", "url": URL, "query": {"k": "{secret:s}"}},
                "definition.query",
            ),
            ({"method": "POST", "url": URL, "body": ["{x}"]}, "definition.body"),
            (
                {"method": "GET", "url": URL, "headers": {"Host": "evil"}},
                "definition.headers.Host",
            ),
            (
                {"method": "GET", "url": URL, "headers": {"A B": "x"}},
                "definition.headers.A B",
            ),
            (
                {"method": "GET", "url": URL, "headers": {"A": "x\r\nB: y"}},
                "definition.headers.A",
            ),
            (
                {"method": "GET", "url": URL, "headers": {"A": "{q}"}},
                "definition.headers.A",
            ),
        ],
    )
    def test_a_wrong_definition_names_its_field(self, tools_api, definition, field):
        assert field in refusal(tools_api, definition=definition)

    def test_an_unknown_field_is_refused(self, tools_api):
        answer = tools_api.send("put", "tools/t", **BODY, colour="red")

        assert answer.json()["code"] == "unknown_field"

    @pytest.mark.parametrize("name", ["1st", "a b", "ä", "x" * 65, "a.b"])
    def test_a_wrong_name(self, tools_api, name):
        assert "name" in refusal(tools_api, name=name)

    @pytest.mark.parametrize("name", ["StoreFact", "storefact", "Memory"])
    def test_the_memory_tools_keep_their_names(self, tools_api, name):
        assert "name" in refusal(tools_api, name=name)

    def test_an_argument_twice_and_a_wrong_type(self, tools_api):
        twice = [{"name": "a"}, {"name": "a"}]

        assert "arguments" in refusal(tools_api, arguments=twice)
        wrong = [{"name": "a", "type": "date"}]
        assert "arguments.0.type" in refusal(tools_api, arguments=wrong)

    def test_an_mcp_server_has_no_arguments_and_no_method(self, tools_api):
        found = refusal(
            tools_api,
            kind="mcp",
            arguments=[{"name": "a"}],
            definition={"url": URL, "method": "GET"},
        )

        assert {"arguments", "definition.method"} <= found.keys()

    @pytest.mark.parametrize(("first", "second"), [("a", "a_b"), ("A_b", "a")])
    def test_tools_of_two_servers_cannot_have_one_name(self, tools_api, first, second):
        server = {"kind": "mcp", "arguments": [], "definition": {"url": URL}}
        tools_api.put(first, **server)

        assert "name" in refusal(tools_api, name=second, **server)
        tools_api.put("ab", **server)
        tools_api.put(first, **server)

    @pytest.mark.parametrize("mode", ["mask", "allow"])
    def test_a_secret_in_a_header_is_refused(self, tools_api, project, mode):
        project.settings = {"secrets": mode}
        project.save()
        token = "ghp_" + "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0eFxQ2w"
        headers = {"Authorization": f"Bearer {token}"}

        found = refusal(
            tools_api, definition={"method": "GET", "url": URL, "headers": headers}
        )

        assert "PUT /agents/secrets/NAME" in str(found)
        assert token not in str(found)

    @pytest.mark.parametrize(
        "value",
        [
            "Bearer {secret:crm}",
            "Basic {secret:crm_password}",
            "{secret:API_TOKEN}",
            "token={secret:key}; Path=/",
        ],
    )
    def test_the_name_of_a_secret_is_no_secret(self, tools_api, value):
        headers = {"Authorization": value, "X-Api-Key": value}
        definition = {"method": "GET", "url": URL, "headers": headers}

        found = tools_api.put("t", kind="http", definition=definition)

        assert found["definition"]["headers"] == headers

    @pytest.mark.parametrize("timeout", [0, -1, 121, "soon"])
    def test_a_wrong_timeout(self, tools_api, timeout):
        assert "timeout" in refusal(tools_api, timeout=timeout)


@pytest.mark.django_db(transaction=True)
class TestAtTheSameTime:
    def test_one_of_two_creations_wins(self, project, alice):
        fields = {
            "kind": "http",
            "description": "",
            "arguments": [],
            "definition": {"method": "GET", "url": URL},
            "timeout": 30.0,
            "groups": ["default"],
            "states": ["*"],
            "confirm": "ask",
            "is_enabled": True,
        }
        start = threading.Barrier(4)

        def create(number):
            start.wait()
            try:
                return definitions.create_tool(project, "t", fields, alice).name
            except definitions.ToolExists:
                return "taken"
            finally:
                connection.close()

        with ThreadPoolExecutor(4) as threads:
            outcomes = sorted(threads.map(create, range(4)))

        assert outcomes == ["t", "taken", "taken", "taken"]
        assert AgentTool.objects.count() == 1
