"""A secret of the operator goes to its host in a header, and is in nothing that comes back."""

from __future__ import annotations

import json

import pytest
from django.core.exceptions import ImproperlyConfigured

from agents.models import AgentRun, AgentTool
from audit.models import AuditEvent
from memory_project.settings import tool_secrets
from tests.agents.tools.scripted_http import Scripted
from tests.agents.tools.scripted_mcp import FIND, offers

pytestmark = pytest.mark.django_db
KEY = "library-key-1234567"
HEADERS = {"Authorization": "Bearer ${AGENT_TOOL_LIBRARY}"}


@pytest.fixture
def secret(settings, server):
    settings.AGENT_TOOL_SECRETS = {
        "AGENT_TOOL_LIBRARY": f"127.0.0.1:{server.port} {KEY}"
    }


@pytest.fixture
def put(tools_api, server):
    def put(**fields):
        return tools_api.put("s", url=f"{server.url}/mcp", headers=HEADERS, **fields)

    return put


class TestASecret:
    def test_it_is_sent_and_masked_where_the_server_repeats_it(
        self, secret, put, server, call
    ):
        offers(server, FIND, said=lambda received: received.headers["authorization"])
        put()

        assert call("s_find") == "Bearer [secret:AGENT_TOOL_LIBRARY]"
        assert server.last.headers["authorization"] == f"Bearer {KEY}"

    def test_it_is_masked_across_the_cut(self, secret, put, server, call):
        offers(server, FIND, said="x" * 19_990 + KEY * 5)
        put()

        assert KEY[:4] not in call("s_find")

    def test_it_is_in_no_answer_no_row_and_no_log(
        self, secret, put, server, call, choose, tools_api, caplog
    ):
        offers(server, {**FIND, "description": f"You sent {KEY}"}, said=f"have {KEY}")
        put()
        call("s_find")
        server.answers(500, f"broken by {KEY}")
        call("s_find")

        answers = [tools_api.send("get", path).json() for path in ("tools", "tools/s")]
        rows = [
            *AgentTool.objects.values(),
            *AuditEvent.objects.values(),
            *AgentRun.objects.values(),
        ]
        assert choose()["s_find"].description.startswith("You sent [secret:")
        assert KEY not in json.dumps([answers, rows], default=str)
        assert KEY not in caplog.text

    def test_it_is_masked_in_why_the_server_did_not_answer(
        self, secret, put, server, choose
    ):
        error = {"code": 1, "message": f"I do not know {KEY}"}
        server.script = lambda received: Scripted(
            200,
            json.dumps(
                {"jsonrpc": "2.0", "id": received.json["id"], "error": error}
            ).encode(),
            {"Content-Type": "application/json"},
        )
        put()
        choose()

        assert KEY not in str(AgentTool.objects.get().listing)

    def test_a_token_of_somebody_else_is_masked_too(self, secret, put, server, call):
        token = "ghp_" + "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0eFxQ2w"
        offers(server, FIND, said=f"token {token}")
        put()

        assert token not in call("s_find")


class TestARefusal:
    def test_a_variable_that_is_not_set_is_said_and_other_servers_are_listed(
        self, put, server, choose, tools_api
    ):
        offers(server, FIND)
        put()
        tools_api.put("good", url=f"{server.url}/mcp")

        assert list(choose()) == ["good_find"]
        listing = AgentTool.objects.get(name="s").listing
        assert "AGENT_TOOL_LIBRARY" in listing["error"]
        assert "is not set" in listing["error"]

    @pytest.mark.parametrize(
        "host", ["mcp.example.com", "127.0.0.1:1", "127.0.0.1.example.com"]
    )
    def test_a_secret_of_another_host_is_not_sent(
        self, put, server, choose, settings, host
    ):
        settings.AGENT_TOOL_SECRETS = {"AGENT_TOOL_LIBRARY": f"{host} {KEY}"}
        offers(server, FIND)
        put()

        assert choose() == {}
        assert server.received == []
        assert "for another host" in AgentTool.objects.get().listing["error"]

    def test_a_variable_beyond_the_prefix_is_never_read(
        self, server, choose, monkeypatch, project
    ):
        monkeypatch.setenv("OTHER_KEY", f"127.0.0.1:{server.port} {KEY}")
        AgentTool.objects.create(
            project=project,
            name="s",
            url=f"{server.url}/mcp",
            headers={"X-Key": "${OTHER_KEY}"},
            groups=["*"],
            states=["*"],
        )

        assert choose() == {}
        assert server.received == []


class TestTheEnvironment:
    def test_variables_and_files_are_read(self, monkeypatch, tmp_path):
        file = tmp_path / "key"
        file.write_text(f"crm.internal:8443 {KEY}\n")
        monkeypatch.setenv("AGENT_TOOL_LIBRARY", f"mcp.example.com {KEY}")
        monkeypatch.setenv("AGENT_TOOL_CRM_FILE", str(file))

        assert tool_secrets() == {
            "AGENT_TOOL_LIBRARY": f"mcp.example.com {KEY}",
            "AGENT_TOOL_CRM": f"crm.internal:8443 {KEY}",
        }

    @pytest.mark.parametrize(
        "value",
        [KEY, "", "mcp.example.com short", f"https://a.example {KEY}", f"a {KEY}ä"],
    )
    def test_a_value_of_another_form_is_refused_at_start(self, monkeypatch, value):
        monkeypatch.setenv("AGENT_TOOL_LIBRARY", value)

        with pytest.raises(ImproperlyConfigured, match="AGENT_TOOL_LIBRARY") as error:
            tool_secrets()
        assert KEY not in str(error.value)
