"""A secret of tools is encrypted, never read back, and outlives a change of SECRET_KEY."""

from __future__ import annotations

import json

import pytest
from django.db import connection

from agents.models import ToolSecret
from agents.tools import secrets
from agents.tools.secrets import read_values
from agents.tools.tool import ToolFailure
from audit.models import AuditEvent
from common.caller import Role
from tests.agents.tools.conftest import ToolsApi

pytestmark = pytest.mark.django_db
VALUE = "crm-key-0123456789-abcdef"


def stored_rows():
    with connection.cursor() as cursor:
        cursor.execute('SELECT row::text FROM "agents_toolsecret" AS row')
        return [row for (row,) in cursor.fetchall()]


class TestAtRest:
    def test_the_value_is_in_no_table_and_no_answer(self, tools_api, project):
        answers = [
            tools_api.put_secret("crm", VALUE),
            tools_api.send("get", "secrets/crm").json(),
            tools_api.send("put", "secrets/crm", value="x").json(),
        ]

        assert VALUE not in json.dumps(answers)
        assert VALUE not in "".join(stored_rows())
        events = AuditEvent.objects.filter(object_type="tool_secret")
        assert VALUE not in str(list(events.values()))
        assert read_values(project, ["crm"]) == {"crm": VALUE}

    def test_two_equal_values_are_stored_differently(self, tools_api):
        tools_api.put_secret("a", VALUE)
        tools_api.put_secret("b", VALUE)

        first, second = ToolSecret.objects.all()
        assert first.encrypted_value != second.encrypted_value

    def test_a_value_that_looks_like_a_token_is_kept_whole(self, tools_api, project):
        token = "ghp_" + "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0eFxQ2w"

        tools_api.put_secret("git", token)

        assert read_values(project, ["git"]) == {"git": token}

    def test_a_changed_row_is_not_decrypted(self, tools_api, project):
        tools_api.put_secret("crm", VALUE)
        secret = ToolSecret.objects.get()
        middle = secret.encrypted_value[40]
        other = "A" if middle != "A" else "B"
        secret.encrypted_value = (
            secret.encrypted_value[:40] + other + secret.encrypted_value[41:]
        )
        secret.save()

        with pytest.raises(ToolFailure, match="cannot be decrypted"):
            read_values(project, ["crm"])


class TestAnotherSecretKey:
    def test_a_fallback_decrypts_and_the_next_use_encrypts_again(
        self, tools_api, project, settings
    ):
        tools_api.put_secret("crm", VALUE)
        settings.SECRET_KEY_FALLBACKS = [settings.SECRET_KEY]
        settings.SECRET_KEY = "another key"
        assert tools_api.send("get", "secrets/crm").json()["state"] == "old_key"

        assert read_values(project, ["crm"]) == {"crm": VALUE}
        settings.SECRET_KEY_FALLBACKS = []

        assert tools_api.send("get", "secrets/crm").json()["state"] == "ready"
        assert read_values(project, ["crm"]) == {"crm": VALUE}

    def test_without_the_old_key_the_tool_says_how_to_mend_it(
        self, tools_api, project, settings
    ):
        tools_api.put_secret("crm", VALUE)
        headers = {"X-Key": "{secret:crm}"}
        tools_api.put_http("t", "https://tickets.example.com/", headers=headers)
        settings.SECRET_KEY = "another key"

        status = tools_api.send("get", "secrets/crm").json()
        observation = tools_api.try_tool("t")["observation"]

        assert status["state"] == "unreadable"
        assert "SECRET_KEY has changed" in observation
        assert "PUT /agents/secrets/crm" in observation
        assert "SECRET_KEY_FALLBACKS" in observation

    def test_a_newer_value_is_not_overwritten_by_the_old_one(
        self, tools_api, project, settings, monkeypatch
    ):
        tools_api.put_secret("crm", VALUE)
        settings.SECRET_KEY_FALLBACKS = [settings.SECRET_KEY]
        settings.SECRET_KEY = "another key"
        older = ToolSecret.objects.get()
        tools_api.put_secret("crm", "a newer value of it")

        secrets._encrypt_again(older, VALUE)

        assert read_values(project, ["crm"]) == {"crm": "a newer value of it"}


class TestUse:
    def test_a_missing_secret_is_said_and_nothing_is_sent(self, tools_api, server):
        headers = {"X-Key": "{secret:none}"}
        tools_api.put_http("t", f"{server.url}/", headers=headers)

        observation = tools_api.try_tool("t")["observation"]

        assert observation == (
            "Error: The secret none of this tool is not stored. An owner of the project "
            "stores it with PUT /agents/secrets/none."
        )
        assert server.received == []

    def test_a_secret_of_another_project_is_not_used(
        self, tools_api, charlie_api, other_project, server
    ):
        tools_api.put_secret("crm", VALUE)
        charlies = ToolsApi(charlie_api, other_project)
        headers = {"X-Key": "{secret:crm}"}
        charlies.put_http("t", f"{server.url}/", headers=headers)

        assert "is not stored" in charlies.try_tool("t")["observation"]

    def test_it_names_the_tools_that_use_it(self, tools_api):
        tools_api.put_secret("crm", VALUE)
        headers = {"X-Key": "a {secret:crm}"}
        tools_api.put_http("t", "https://tickets.example.com/", headers=headers)
        tools_api.put_http("u", "https://tickets.example.com/")

        assert tools_api.send("get", "secrets/crm").json()["tools"] == ["t"]

    def test_a_deleted_secret_is_gone(self, tools_api):
        tools_api.put_secret("crm", VALUE)

        assert tools_api.send("delete", "secrets/crm").status_code == 204
        assert tools_api.send("delete", "secrets/crm").status_code == 404
        assert stored_rows() == []


class TestRefusals:
    @pytest.mark.parametrize(
        "value",
        [
            "short",
            "",
            "two\nlines of it",
            "grün wie Gras",
            " spaces ",
            "x" * 8_001,
            7e9,
        ],
    )
    def test_a_value_that_no_header_can_have(self, tools_api, value):
        answer = tools_api.send("put", "secrets/crm", value=value)

        if isinstance(value, float):  # a number is read as its text
            assert answer.status_code == 200
        else:
            assert "value" in answer.json()["errors"]

    @pytest.mark.parametrize("name", ["a b", "1", "x" * 65, "ä"])
    def test_a_wrong_name(self, tools_api, name):
        answer = tools_api.send("put", f"secrets/{name}", value=VALUE)

        assert "name" in answer.json()["errors"]

    @pytest.mark.parametrize("role", [Role.VIEWER, Role.WRITER, Role.CURATOR])
    def test_only_owners(self, tools_api, client_of, project, role):
        tools_api.put_secret("crm", VALUE)
        member = ToolsApi(client_of(project, role=role), project)

        for method, body in (("get", {}), ("put", {"value": VALUE}), ("delete", {})):
            assert member.send(method, "secrets/crm", **body).status_code == 403

    def test_there_is_a_most(self, tools_api, monkeypatch):
        monkeypatch.setattr(secrets, "MAX_SECRETS", 1)
        tools_api.put_secret("a", VALUE)

        tools_api.put_secret("a", VALUE)
        answer = tools_api.send("put", "secrets/b", value=VALUE)

        assert answer.json()["code"] == "too_many_tool_secrets"
