"""The page Connect: what is pasted, a key that is shown once, and who has reported."""

from __future__ import annotations

import html
import json
import re

import pytest
from django.contrib.sessions.models import Session
from django.urls import reverse
from rest_framework.test import APIClient

from access.models import ApiKey
from audit.models import AuditEvent
from common.caller import Role
from tests.admin.conftest import MARK
from tests.mcp_server.hooks.conftest import started

pytestmark = pytest.mark.django_db
CONNECT = reverse("console:connect")
SECRET = re.compile(r"am_[\w-]{20,}")


def snippets_of(answer):
    """Return the texts that have a button to copy them."""
    found = re.findall(r"<pre[^>]*>([^<]*)</pre>\s*<button", answer.content.decode())
    return [html.unescape(text) for text in found]


def make_key(browser, agent_id="ana@laptop"):
    return browser.post(CONNECT, {"agent_id": agent_id})


class TestForms:
    def test_each_of_the_six_has_the_address_and_the_project(self, owner, project):
        texts = snippets_of(owner.get(CONNECT))

        url = f"http://testserver/mcp/{project.pk}"
        assert sum(url in text for text in texts) == 6
        posted = f"http://testserver/hooks/claude-code?project_id={project.pk}"
        assert any(posted in text for text in texts)
        assert not any(".invalid" in text or "00000000-" in text for text in texts)

    def test_each_text_of_json_is_whole(self, owner):
        texts = [t for t in snippets_of(owner.get(CONNECT)) if t.startswith("{")]

        assert len(texts) == 8
        assert all(json.loads(text) for text in texts)

    def test_the_address_that_people_use_is_the_one_that_is_shown(
        self, owner, settings
    ):
        settings.PUBLIC_URL = "https://memory.example.com/"

        texts = snippets_of(owner.get(CONNECT))

        assert sum("https://memory.example.com/mcp/" in text for text in texts) == 6
        assert not any("testserver" in text for text in texts)

    def test_the_command_quotes_the_name_of_the_project(self, owner, project):
        project.name = "shop; rm -rf ~"
        project.save()

        [command, *_] = snippets_of(owner.get(CONNECT))

        assert command == (
            "/path/to/agent-memory/bin/am connect --server http://testserver "
            "--project 'shop; rm -rf ~'"
        )

    def test_an_owner_sees_the_path_of_the_checkout_on_the_machine_of_the_service(
        self, owner, browser_of, settings, tmp_path
    ):
        settings.PUBLIC_URL = "http://127.0.0.1:8000"
        settings.BASE_DIR = tmp_path / "our tools"

        def command(browser=owner):
            return snippets_of(browser.get(CONNECT))[0].partition(" --server ")[0]

        assert command() == "/path/to/agent-memory/bin/am connect"
        (tmp_path / "our tools/bin").mkdir(parents=True)
        (tmp_path / "our tools/bin/am").touch()
        assert command() == f"'{tmp_path}/our tools/bin/am' connect"
        bob = browser_of(Role.CURATOR)
        assert command(bob) == "/path/to/agent-memory/bin/am connect"


class TestKey:
    def test_it_is_shown_once_and_stored_nowhere(self, owner):
        answer = make_key(owner)

        [secret] = set(SECRET.findall(answer.content.decode()))
        assert secret in snippets_of(answer)
        assert not [x for x in snippets_of(answer) if secret in x and x != secret]
        assert answer["Cache-Control"] == "private, no-store"
        assert not SECRET.search(owner.get(CONNECT).content.decode())
        kept = [session.get_decoded() for session in Session.objects.all()]
        assert secret not in str([kept, *AuditEvent.objects.values()])

    def test_it_writes_to_this_project_as_this_agent(self, owner, project):
        answer = make_key(owner)

        key = ApiKey.objects.get()
        assert (key.role, key.agent_id) == (Role.WRITER, "ana@laptop")
        assert list(key.projects.all()) == [project]
        assert not (key.everywhere or key.may_attest)
        api = APIClient()
        [secret] = set(SECRET.findall(answer.content.decode()))
        api.credentials(HTTP_AUTHORIZATION=f"Bearer {secret}")
        assert api.post("/hooks/codex", started(), format="json").json() == {}

    @pytest.mark.parametrize("agent_id", ["", "x" * 256])
    def test_a_wrong_name_makes_none(self, owner, agent_id):
        answer = make_key(owner, agent_id)

        assert answer.status_code == 400
        assert 'role="alert"' in answer.content.decode()
        assert not ApiKey.objects.exists()

    @pytest.mark.parametrize("role", [Role.VIEWER, Role.WRITER, Role.CURATOR])
    def test_only_an_owner_sees_the_button_and_makes_one(self, browser_of, role):
        bob = browser_of(role)
        page = bob.get(CONNECT).content.decode()

        assert "Make a key" not in page
        assert "Ask an owner" in page
        assert make_key(bob).status_code == 403
        assert not ApiKey.objects.exists()

    def test_nobody_makes_one_for_a_project_of_others(self, charlies, project):
        named = {"project": str(project.pk)}

        assert charlies.get(CONNECT, named).status_code == 404
        answer = charlies.post(f"{CONNECT}?project={project.pk}", {"agent_id": "c"})

        assert answer.status_code == 404
        assert not ApiKey.objects.exists()
        assert str(project.pk) not in charlies.get(CONNECT).content.decode()


class TestEvents:
    def test_the_last_one_of_each_agent_is_listed(self, owner, client_of, project):
        api = client_of(project, role=Role.WRITER, agent_id=f"{MARK}@laptop")
        for harness in ("codex", "codex", "cursor"):
            api.post(f"/hooks/{harness}", {"hook_event_name": "stop"}, format="json")

        page = owner.get(CONNECT).content.decode()

        assert page.count(f"{MARK}@laptop") == 2
        assert "<td>cursor</td>" in page
        assert "stop" in page

    def test_it_says_that_none_has_come(self, owner):
        assert "has reported an event yet" in owner.get(CONNECT).content.decode()

    def test_nobody_sees_those_of_others(self, charlies, client_of, project):
        api = client_of(project, role=Role.WRITER, agent_id=f"{MARK}@laptop")
        api.post("/hooks/codex", started(), format="json")

        assert MARK not in charlies.get(CONNECT).content.decode()


def test_the_page_of_a_project_leads_there(owner, project):
    page = owner.get(reverse("admin:projects_project_change", args=[project.pk]))

    assert f"{CONNECT}?project={project.pk}" in page.content.decode()


def test_the_first_steps_lead_there(owner, project):
    page = owner.get(reverse("admin:index")).content.decode()

    assert f"{CONNECT}?project={project.pk}" in page
