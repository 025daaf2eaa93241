"""Only owners define servers, and a wrong definition is refused with the mend."""

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
URL = "https://tickets.example.com/mcp"
BODY = {"url": URL}


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
        ):
            assert key.send(method, path, **body).status_code == 403, (method, path)

    def test_charlie_finds_nothing(self, tools_api, charlie_api, project):
        tools_api.put("t", **BODY)
        charlie = ToolsApi(charlie_api, project)

        for method, path, body in (
            ("get", "tools", {}),
            ("get", "tools/t", {}),
            ("put", "tools/t", BODY),
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
        "url",
        [
            *("ftp://a.example", "https://u:p@a.example/", "https://{host}/"),
            *(f"{URL}/{{id}}", f"{URL}#a", "https:///mcp", "mcp.example.com"),
            *("http://127.0.0.1/", "http://localhost:6379/", "http://[::1]/"),
            *("http://10.0.0.1/", "http://2130706433/", "http://0x7f.1/"),
            *("http://169.254.169.254/", "http://metadata.google.internal/"),
            "http://[::ffff:192.168.0.1]/",
        ],
    )
    def test_a_wrong_address_is_refused(self, tools_api, url):
        assert "url" in refusal(tools_api, url=url)

    @pytest.mark.parametrize(
        ("name", "value"),
        [("Host", "evil"), ("A B", "x"), ("A", "x\r\nB: y"), ("A", "ä")],
    )
    def test_a_wrong_header_names_its_field(self, tools_api, name, value):
        assert f"headers.{name}" in refusal(tools_api, headers={name: value})

    @pytest.mark.parametrize(
        "value",
        [
            *("Bearer ${SECRET_KEY}", "${DATABASE_URL}", "${agent_tool_x}"),
            *("${AGENT_TOOL_}", "${AGENT_TOOL_X", "${}", "${AGENT_TOOL_X} ${PATH}"),
            "${AGENT_TOOL_X:-${SECRET_KEY}}",
        ],
    )
    def test_a_header_names_no_other_variable(self, tools_api, value):
        found = refusal(tools_api, headers={"X-Key": value})

        assert "${AGENT_TOOL_NAME}" in str(found["headers.X-Key"])

    def test_an_unknown_field_is_refused(self, tools_api):
        answer = tools_api.send("put", "tools/t", **BODY, colour="red")

        assert answer.json()["code"] == "unknown_field"

    @pytest.mark.parametrize("name", ["1st", "a b", "ä", "x" * 65, "a.b"])
    def test_a_wrong_name(self, tools_api, name):
        assert "name" in refusal(tools_api, name=name)

    @pytest.mark.parametrize(("first", "second"), [("a", "a_b"), ("A_b", "a")])
    def test_tools_of_two_servers_cannot_have_one_name(self, tools_api, first, second):
        tools_api.put(first, **BODY)

        assert "name" in refusal(tools_api, name=second)
        tools_api.put("ab", **BODY)
        tools_api.put(first, **BODY)

    @pytest.mark.parametrize("mode", ["mask", "allow"])
    def test_a_secret_in_a_header_is_refused(self, tools_api, project, mode):
        project.settings = {"secrets": mode}
        project.save()
        token = "ghp_" + "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0eFxQ2w"
        headers = {"Authorization": f"Bearer {token}"}

        found = refusal(tools_api, headers=headers)

        assert "AGENT_TOOL_NAME" in str(found)
        assert token not in str(found)

    @pytest.mark.parametrize(
        "value",
        [
            "Bearer ${AGENT_TOOL_CRM}",
            "Basic ${AGENT_TOOL_CRM_PASSWORD}",
            "${AGENT_TOOL_API_TOKEN}",
            "token=${AGENT_TOOL_KEY}; Path=/",
        ],
    )
    def test_the_name_of_a_variable_is_no_secret(self, tools_api, value):
        headers = {"Authorization": value, "X-Api-Key": value}

        assert tools_api.put("t", url=URL, headers=headers)["headers"] == headers

    @pytest.mark.parametrize("timeout", [0, -1, 121, "soon"])
    def test_a_wrong_timeout(self, tools_api, timeout):
        assert "timeout" in refusal(tools_api, timeout=timeout)


@pytest.mark.django_db(transaction=True)
class TestAtTheSameTime:
    def test_one_of_two_creations_wins(self, project, alice):
        fields = {
            "description": "",
            "url": URL,
            "headers": {},
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
