"""The settings of digests in the admin, and the preview of one."""

from __future__ import annotations

import json

import pytest
from django.urls import reverse

from audit.models import AuditEvent
from common.caller import Role
from context.digest import digest_configs
from context.models import DigestConfig
from memories import scopes
from memories.store import write
from memories.store.drafts import Draft

pytestmark = pytest.mark.django_db

ADD = "admin:context_digestconfig_add"
PREVIEW = "admin:context_digestconfig_preview"


def add(browser, project, config, agent_id=""):
    typed = {"project": project.pk, "agent_id": agent_id, "config": json.dumps(config)}
    return browser.post(reverse(ADD), typed)


def row_page(row):
    return reverse("admin:context_digestconfig_change", args=[row.pk])


class TestSettings:
    def test_a_curator_sets_them_for_an_agent(self, curator, project):
        add(curator, project, {"semantic": {"enabled": True}}, agent_id="coder")

        row = DigestConfig.objects.get()
        assert (row.agent_id, row.version, row.updated_by) == ("coder", 1, "user:bob")
        assert row.config == {"semantic": {"enabled": True}}
        assert AuditEvent.objects.filter(verb="digest_config.put").exists()

    @pytest.mark.parametrize(
        ("config", "told"),
        [
            ({"budgets": {"total": {"max_items": -1}}}, "budgets.total.max_items: "),
            ({"agents": "zebra"}, "agents: Input should be"),
            ({"zebra": 1}, "zebra: Unknown setting `zebra`"),
            ([1, 2], "It must be a JSON object"),
            ("zebra", "It must be a JSON object"),
        ],
    )
    def test_it_names_the_error_and_keeps_the_input(
        self, curator, project, config, told
    ):
        html = add(curator, project, config).content.decode()

        assert told in html
        assert "zebra" not in json.dumps(config) or "zebra" in html
        assert not DigestConfig.objects.exists()

    def test_it_makes_no_second_row_for_the_same_agent(self, curator, project):
        add(curator, project, {"enabled": False})

        html = add(curator, project, {"enabled": True}).content.decode()

        assert "already exists" in html
        assert DigestConfig.objects.get().config == {"enabled": False}

    def test_it_changes_them_and_refuses_a_stale_change(self, curator, project, alice):
        row = digest_configs.put(project, "", {"enabled": False}, alice)
        changed = {"config": '{"agents": "all"}', "version": 1}

        assert curator.post(row_page(row), changed).status_code == 302
        stale = curator.post(row_page(row), changed | {"config": '{"agents": "own"}'})

        row.refresh_from_db()
        assert row.config == {"agents": "all"}
        assert "has changed since you read it" in stale.content.decode()

    def test_it_shows_the_effective_settings_and_who_set_them(
        self, curator, project, alice
    ):
        digest_configs.put(project, "", {"keyword": {"limit": 7}}, alice)
        row = digest_configs.put(project, "coder", {"agents": "all"}, alice)

        html = " ".join(curator.get(row_page(row)).content.decode().split())

        assert set_by(html, "keyword.limit") == ("7", "the project")
        assert set_by(html, "agents") == ("&quot;all&quot;", "this agent")
        assert set_by(html, "semantic.limit") == ("20", "default")

    def test_a_writer_reads_and_changes_nothing(self, browser_of, project, alice):
        row = digest_configs.put(project, "", {"enabled": False}, alice)
        writer = browser_of(Role.WRITER)

        refused = writer.post(row_page(row), {"config": "{}", "version": 1})

        row.refresh_from_db()
        assert refused.status_code == 403
        assert row.config == {"enabled": False}
        assert "keyword.limit" in writer.get(row_page(row)).content.decode()
        assert add(writer, project, {}).status_code == 403


def set_by(html, setting):
    """The value and the origin of a setting, from the table of what holds."""
    _, _, after = html.partition(f"<td>{setting}</td>")
    value, origin = after.split("<td>")[1:3]
    return value.partition('">')[2].partition("<")[0], origin.partition("<")[0]


class TestPreview:
    @pytest.fixture
    def memories(self, project, alice):
        made = []
        for number, day in enumerate(("Monday", "Tuesday", "Friday")):
            draft = Draft(
                content=f"The tide tables of {day} are in file {number}.",
                memory_type="learning",
                agent_id="coder",
            )
            made.append(write.store(project, draft, alice).memory)
        return made

    def show(self, browser, project, **asked):
        given = {"project": project.pk} | asked
        return browser.get(reverse(PREVIEW), given).content.decode()

    def test_it_shows_the_text_and_why_each_line_is_in_or_out(
        self, browser_of, project, alice, memories
    ):
        budgets = {"total": {"max_items": 2, "max_chars": 2_400}}
        digest_configs.put(project, "coder", {"budgets": budgets}, alice)

        html = self.show(
            browser_of(Role.VIEWER), project, agent_id="coder", query="tide tables"
        )

        assert "Memory digest:" in html
        assert "keyword " in html
        assert html.count("the total budget of items is spent") == 1
        assert all(memory.content in html for memory in memories)

    def test_its_form_keeps_the_input(self, curator, project):
        html = self.show(curator, project, agent_id="coder", query="tide tables")

        assert 'value="coder"' in html
        assert "tide tables</textarea>" in html

    def test_it_adds_the_memories_of_a_user_of_a_session_and_of_an_object(
        self, curator, project, alice
    ):
        named = {
            "of the user": {"kind": "user", "user_id": "u1"},
            "of the session": {"kind": "session", "session_id": "s1", "user_id": "u1"},
            "of the boat": {"kind": "object", "object_type": "boat", "object_id": "b1"},
        }
        for words, scope in named.items():
            scope = scopes.resolve(scope, project, alice)
            text = f"The tide tables {words} are here."
            draft = Draft(content=text, memory_type="learning", scope=scope)
            write.store(project, draft, alice)
        keys = {
            "user_id": "u1",
            "session_id": "s1",
            "object_type": "boat",
            "object_id": "b1",
        }

        without = self.show(curator, project, query="tide tables")
        html = self.show(curator, project, query="tide tables", **keys)

        assert not any(f"tables {words}" in without for words in named)
        assert all(f"tables {words}" in html for words in named)

    def test_it_needs_both_parts_of_an_object(self, curator, project):
        html = self.show(curator, project, object_id="b1")

        assert "An object has a type and an id" in html

    def test_it_records_nothing(self, curator, project, memories):
        before = AuditEvent.objects.count()

        self.show(curator, project, query="tide tables")

        assert AuditEvent.objects.count() == before

    def test_the_page_of_settings_leads_there(self, curator, project, alice):
        row = digest_configs.put(project, "coder", {}, alice)

        html = curator.get(row_page(row)).content.decode()

        assert f"{reverse(PREVIEW)}?project={project.pk}&amp;agent_id=coder" in html
