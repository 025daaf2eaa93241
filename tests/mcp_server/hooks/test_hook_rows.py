"""The end of what is counted and pushed: a purge, a deleted project, and time."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from jobs.models import Job
from mcp_server import tasks
from mcp_server.hooks.pushes import RETENTION
from mcp_server.models import HookCount, Push
from mcp_server.project_removal import remove
from memories.store import write
from memories.store.drafts import Draft
from tests.ace.repairs.test_whose_fix import Watched
from tests.mcp_server.hooks.conftest import started

pytestmark = pytest.mark.django_db
TEXT = "The gateway answers 503 for a second after a deploy."


@pytest.fixture
def given(hook, bob_api, project, alice):
    """Let a session start with a lesson, and return the lesson's memory."""
    draft = Draft(content=TEXT, memory_type="learning", lessons=TEXT)
    stored = write.store(project, draft, alice)
    assert hook(bob_api, **started())
    return stored


def test_a_purge_leaves_no_row_about_the_memory(given, alice_api, project):
    memory_id = Push.objects.get().subject

    answer = alice_api.post(
        "/api/v1/purge",
        {"project_id": str(project.pk), "ids": [memory_id], "reason": "Asked."},
    )

    assert answer.status_code in (200, 201), answer.content
    assert not Push.objects.exists()


@pytest.mark.usefixtures("given")
class TestTime:
    def test_a_deleted_project_keeps_none(self, project):
        job = Job(kind="project.delete", project_id=project.pk)

        remove(project.pk, Watched(job, None))

        assert not Push.objects.exists()
        assert not HookCount.objects.exists()

    def test_old_rows_are_forgotten(self):
        tasks.forget_pushes()
        assert Push.objects.exists()

        Push.objects.update(at=timezone.now() - RETENTION - timedelta(days=1))
        tasks.forget_pushes()

        assert not Push.objects.exists()


def test_a_start_runs_as_many_statements_for_one_lesson_as_for_ten(
    hook, bob_api, project, alice
):
    def count(session):
        with CaptureQueriesContext(
            connection,
        ) as queries:
            hook(bob_api, **started(session))
        return len(queries)

    draft = Draft(content=TEXT, memory_type="learning", lessons=TEXT)
    write.store(project, draft, alice)
    count("warm")
    one = count("one")
    for number in range(9):
        text = f"Ledger {number} closed after {number} tries."
        write.store(project, Draft(content=text, memory_type="learning", lessons=text), alice)  # fmt: skip

    assert count("ten") <= one + 1
