from __future__ import annotations

import pytest
from django.apps import apps
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from common.ids import uuid7
from jobs.models import Job
from memory_project import health
from playbook.models import PlaybookChange

pytestmark = pytest.mark.django_db

# Indexes of all rows whose columns are the first ones of another.
NEEDLESS = """
SELECT shorter.indexrelid::regclass::text, longer.indexrelid::regclass::text
FROM pg_index AS shorter
JOIN pg_index AS longer USING (indrelid)
JOIN pg_class AS one ON one.oid = shorter.indexrelid
JOIN pg_class AS other ON other.oid = longer.indexrelid AND other.relam = one.relam
WHERE indrelid = %s::regclass AND shorter.indexrelid <> longer.indexrelid
  AND NOT shorter.indisunique AND shorter.indexprs IS NULL
  AND shorter.indpred IS NULL AND longer.indpred IS NULL
  AND (longer.indkey::text || ' ') LIKE (shorter.indkey::text || ' %%')
  AND (longer.indclass::text || ' ') LIKE (shorter.indclass::text || ' %%')
"""
OURS = [
    model
    for model in apps.get_models()
    if not model.__module__.startswith(("django.", "axes."))
]


def test_no_index_of_a_table_repeats_the_beginning_of_another():
    wrong = []
    with connection.cursor() as cursor:
        for model in OURS:
            cursor.execute(NEEDLESS, [model._meta.db_table])
            wrong += cursor.fetchall()

    assert not wrong


def plan_of(table, ask):
    with connection.cursor() as cursor:
        cursor.execute(f"ANALYZE {table}")
        with CaptureQueriesContext(connection) as asked:
            ask()
        cursor.execute(f"EXPLAIN {asked[-1]['sql']}")
        return "\n".join(line for (line,) in cursor.fetchall())


def test_failed_jobs_are_counted_without_the_others():
    Job.objects.bulk_create(Job(kind="x", state="done") for _ in range(1000))

    assert "job_failed" in plan_of("jobs_job", health.check_dead_letters)


def test_the_changes_of_a_delta_are_found_among_all_of_their_project(project, alice):
    PlaybookChange.objects.bulk_create(
        PlaybookChange(
            project_id=project.pk,
            revision=number,
            operation="add",
            action="add",
            entry_id=uuid7(),
            delta_id=uuid7(),
            changed_at=timezone.now(),
        )
        for number in range(1000)
    )
    rows = PlaybookChange.objects.visible_to(alice).filter(project_id=project.pk)
    of_one = rows.filter(delta_id=rows[0].delta_id)

    plan = plan_of("playbook_playbookchange", lambda: list(of_one))

    assert "change_delta" in plan
