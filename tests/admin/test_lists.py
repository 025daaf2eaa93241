from __future__ import annotations

import pytest
from django.contrib import admin
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from access.models import IdempotencyKey
from ace.models import AceRun, Reflection
from audit.models import AuditEvent
from common.admin import paginator
from common.caller import Role
from common.ids import uuid7
from context.models import DigestConfig
from jobs.models import Job
from memories.models import (
    File,
    MemoryChange,
    MemoryFile,
    MemoryVector,
    PossibleDuplicate,
    Tag,
)
from playbook.models import (
    Conflict,
    Exposure,
    PlaybookChange,
    PlaybookDelta,
    Support,
)
from tests.admin.conftest import NOW

# Session, account, roles, the count, the page, the names of projects (of keys: their
# projects), and the waiting changes in the sidebar.
QUERIES = 7


def queries_of(browser, address):
    with CaptureQueriesContext(connection) as captured:
        assert browser.get(address).status_code == 200
    return [query["sql"] for query in captured]


@pytest.fixture
def many(project, a_memory, an_entry):
    """Ten further rows of everything that grows."""

    def make():
        for number in range(10):
            memory, other = a_memory(tags=[f"t{number}"]), a_memory()
            file = File.objects.create(project=project, file_path=f"src/{number}.py")
            MemoryFile.objects.create(memory=memory, file=file)
            MemoryVector.objects.create(
                memory=memory, project_id=project.pk, model="m", embedding=[0.5] * 4
            )
            MemoryChange.objects.create(
                memory_id=memory.pk, project_id=project.pk, action="create", actor="a"
            )
            Tag.objects.create(project=project, name=f"t{number}")
            PossibleDuplicate.objects.create(
                project=project,
                memory=other,
                other=memory,
                similarity=0.9,
                why_not_merged="numbers differ",
            )
            entry = an_entry(f"general-{number:05d}")
            run = AceRun.objects.create(
                project=project, agent_id="a", actor="a", request={"goal": "g"}
            )
            Reflection.objects.create(
                run=run,
                project=project,
                outcome="success",
                outcome_source="test",
                outcome_confidence=1,
            )
            delta = PlaybookDelta.objects.create(
                project=project,
                operation="update",
                entry=entry,
                producer="rule",
                proposed_by="a",
                idempotency_key=str(number),
            )
            Conflict.objects.create(
                project=project, left=entry, delta=delta, reason="r"
            )
            Support.objects.create(entry=entry, memory=memory)
            Exposure.objects.create(project=project, entry=entry)
            PlaybookChange.objects.create(
                project_id=project.pk,
                revision=100 + number,
                operation="add",
                action="add",
                entry_id=entry.pk,
                entry_label=entry.label,
                actor="a",
                changed_at=NOW(),
            )
            DigestConfig.objects.create(project=project, agent_id=str(number))
            Job.objects.create(kind="embed", project_id=project.pk)
            AuditEvent.objects.create(verb="v", actor="a", project_id=project.pk)
            IdempotencyKey.objects.create(
                actor="a",
                route="r",
                project_id=project.pk,
                key=str(number),
                body_hash="0",
            )

    return make


LISTS = [
    "memories_memory",
    "memories_file",
    "memories_tag",
    "memories_memoryfile",
    "memories_memoryvector",
    "memories_memorychange",
    "memories_possibleduplicate",
    "playbook_playbookentry",
    "playbook_playbookdelta",
    "playbook_playbookchange",
    "playbook_conflict",
    "playbook_support",
    "playbook_exposure",
    "context_digestconfig",
    "ace_acerun",
    "ace_reflection",
    "jobs_job",
    "audit_auditevent",
    "access_idempotencykey",
    "access_apikey",
]


@pytest.mark.django_db
@pytest.mark.parametrize("name", LISTS)
def test_it_reads_a_list_in_few_queries_without_heavy_columns(name, world, many, owner):
    many()

    made = queries_of(owner, reverse(f"admin:{name}_changelist"))

    assert len(made) == QUERIES, "\n\n".join(made)
    heavy = ('"content_terms"', '"content_tsv"', '"embedding"')
    columns = [sql.partition(" FROM ")[0] for sql in made]
    assert not [sql for sql in columns if any(column in sql for column in heavy)]
    for sql in made:
        assert "COUNT(*)" not in sql or f"LIMIT {paginator.COUNT_LIMIT + 1}" in sql


@pytest.mark.django_db
class TestCounting:
    def test_it_marks_a_count_that_stopped_at_the_limit(
        self, owner, a_memory, monkeypatch
    ):
        monkeypatch.setattr(paginator, "COUNT_LIMIT", 2)
        for _ in range(4):
            a_memory()

        html = owner.get(reverse("admin:memories_memory_changelist")).content.decode()

        assert "2+" in html


@pytest.mark.django_db
class TestColumns:
    def test_it_shows_five_to_seven(self, world, superuser):
        for model, registered in admin.site._registry.items():
            shown = len(registered.list_display)
            least = 5 if model._meta.label_lower in CURATED else 1
            assert least <= shown <= 7, model


CURATED = {name.replace("_", ".", 1) for name in LISTS} - {
    "memories.memoryvector",
    "access.apikey",
}


@pytest.mark.django_db
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


@pytest.mark.django_db
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
        ],
    )
    def test_it_opens_a_list_to_the_role_that_may_see_it(
        self, browser_of, role, name, status
    ):
        browser = browser_of(role)

        assert browser.get(reverse(f"admin:{name}_changelist")).status_code == status
