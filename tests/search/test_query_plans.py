from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from common.caller import SYSTEM
from memories.models import Memory
from memories.store import draft_checks, drafts
from memories.store.drafts import Draft
from search.columns import lexeme_in_partition, partition_lexeme


def fill(project, rows):
    """Rows enough for a planner to choose; every fourth speaks of workers."""
    Memory.objects.bulk_create(
        drafts.build(
            project,
            draft_checks.check_draft(
                project,
                Draft(
                    content=f"The {'worker' if n % 4 == 0 else 'keeper'} took task{n} "
                    + " ".join(f"word{n}x{m}" for m in range(60)),
                    memory_type="learning",
                ),
                SYSTEM,
            ),
            "english",
        )
        for n in range(rows)
    )
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE memories_memory")


@pytest.fixture
def asked(project, other_project, search, count):
    """The statements of the last of twelve searches: more than make a generic plan."""
    fill(project, 120)
    fill(other_project, 40)
    count()
    for _ in range(11):
        search("worker table")
    with CaptureQueriesContext(connection) as statements:
        search("worker table")
    return [statement["sql"] for statement in statements]


def test_the_twelfth_is_planned_for_its_own_project_and_uses_the_index(asked, project):
    lane = next(sql for sql in asked if "<#>" in sql and "@@" in sql)

    with connection.cursor() as cursor:
        cursor.execute("EXPLAIN " + lane)
        plan = "\n".join(row[0] for row in cursor.fetchall())

    assert "Bitmap Index Scan on memory_lexemes" in plan
    assert lexeme_in_partition(partition_lexeme("p", project.pk), "worker") in plan
    assert "$1" not in plan
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_prepared_statements")
        assert cursor.fetchone() == (0,)
