from __future__ import annotations

import pytest
from django.urls import reverse

from common.admin import paginator
from common.caller import Role
from common.ids import uuid7

pytestmark = pytest.mark.django_db


class TestCounting:
    def test_it_marks_a_count_that_stopped_at_the_limit(
        self, owner, a_memory, monkeypatch
    ):
        monkeypatch.setattr(paginator, "COUNT_LIMIT", 2)
        for _ in range(4):
            a_memory()

        html = owner.get(reverse("admin:memories_memory_changelist")).content.decode()

        assert "2+" in html


class TestFilters:
    def test_it_offers_only_the_names_of_visible_projects(
        self, owner, project, other_project
    ):
        html = owner.get(reverse("admin:memories_memory_changelist")).content.decode()

        assert project.name in html
        assert other_project.name not in html

    @pytest.mark.parametrize(
        ("query", "found"),
        [
            ("memory_type=decision", True),
            ("memory_type=warning", False),
            ("tag=red", True),
            ("tag=red,blue", True),
            ("tag=green", False),
            ("tag=%22red,+blue%22", True),
            ("tag=%22red,blue%22", False),
            ("state=current", True),
            ("state=deleted", False),
            ("agent_id=claude", True),
            ("agent_id=clau", False),
            ("scope_kind=workspace", True),
            ("created_at_from=2020-01-01", True),
            ("created_at_to=2020-01-01", False),
            ("created_at_from=never", True),
        ],
    )
    def test_it_narrows_the_memories(self, owner, a_memory, query, found):
        a_memory(
            title="Sought",
            memory_type="decision",
            tags=["red", "blue", "red, blue"],
            agent_id="claude",
        )

        page = owner.get(reverse("admin:memories_memory_changelist") + f"?{query}")

        assert ("Sought" in page.content.decode()) is found

    def test_it_narrows_to_a_project(self, superuser, a_memory, project, other_project):
        a_memory(title="Sought")
        address = reverse("admin:memories_memory_changelist")

        mine = superuser.get(f"{address}?project={project.pk}").content.decode()
        theirs = superuser.get(f"{address}?project={other_project.pk}").content.decode()

        assert "Sought" in mine
        assert "Sought" not in theirs

    def test_it_leaves_unknown_rows_of_another_kind_alone(self, owner):
        unknown = f"?project={uuid7()}"

        page = owner.get(reverse("admin:memories_memory_changelist") + unknown)

        assert page.status_code == 200


class TestRoles:
    @pytest.mark.parametrize(
        ("role", "name", "status"),
        [
            (Role.VIEWER, "memories_memory", 200),
            (Role.VIEWER, "playbook_playbookdelta", 200),
            (Role.VIEWER, "jobs_job", 200),
            (Role.CURATOR, "audit_auditevent", 403),
            (Role.CURATOR, "access_apikey", 403),
            (Role.CURATOR, "projects_membership", 403),
            (Role.OWNER, "audit_auditevent", 200),
            (Role.OWNER, "access_apikey", 200),
            (Role.OWNER, "projects_membership", 200),
            (Role.OWNER, "auth_user", 403),
            (Role.OWNER, "axes_accesslog", 403),
            (Role.OWNER, "projects_organization", 403),
            (Role.CURATOR, "memories_purge", 403),
        ],
    )
    def test_it_opens_a_list_to_the_role_that_may_see_it(
        self, browser_of, role, name, status
    ):
        browser = browser_of(role)

        assert browser.get(reverse(f"admin:{name}_changelist")).status_code == status
