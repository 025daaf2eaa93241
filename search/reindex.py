"""The job that writes the lexemes of a project again after the project's language changed."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.db.models import QuerySet

from common import locks
from common.db import write
from jobs import runner
from projects import search_language
from projects.models import Project
from search import statistics

BATCH = 100  # rows written in one transaction; a killed job repeats at most one batch


@dataclass(frozen=True)
class IndexedTable:
    """A table that searches read, and how to write the lexemes of its rows."""

    corpus: str
    rows: Callable[[], QuerySet[Any]]
    # The rows that statistics count.
    counted_rows: Callable[[], QuerySet[Any]]
    # Sets the search columns of a row in a language.
    fill: Callable[[Any, str], None]
    # Takes the locks that come before the rows in the lock order of docs/tables.md.
    lock: Callable[[uuid.UUID], object] = lambda project_id: None


INDEXED_TABLES: list[IndexedTable] = []


@runner.handler(search_language.KIND, silence=timedelta(minutes=5))
def reindex_project(run: runner.JobRun) -> dict[str, Any] | None:
    """Write every row in the project's language, then count the lexemes."""
    project_id = run.job.project_id
    if project_id is None or not Project.objects.filter(pk=project_id).exists():
        return None
    querysets = [table.rows().filter(project_id=project_id) for table in INDEXED_TABLES]
    total = sum(rows.count() for rows in querysets)
    done = run.job.done
    for table in INDEXED_TABLES:
        while count := _write_next(table, run, done, total):
            done += count
            run.yield_turn()
    for table in INDEXED_TABLES:
        run.step(done)
        with locks.no_timeouts():
            rows = table.counted_rows()
            statistics.rebuild(rows, project_id=project_id, name=table.corpus)
    return {"rows": done}


@write
def _write_next(table: IndexedTable, run: runner.JobRun, done: int, total: int) -> int:
    """Write the next rows after the cursor and return their number."""
    project_id, cursor = run.job.project_id, run.job.cursor
    assert project_id
    table.lock(project_id)
    language = search_language.pin_language(project_id)
    after = uuid.UUID(cursor.get(table.corpus, uuid.UUID(int=0).hex))
    rows = table.rows().filter(project_id=project_id, pk__gt=after).order_by("pk")
    batch = list(rows.select_for_update(no_key=True)[:BATCH])
    for row in batch:
        table.fill(row, language)
        row.save(update_fields=["content_tsv"])
    if batch:
        done += len(batch)
        cursor = cursor | {table.corpus: str(batch[-1].pk)}
        run.step(done, max(total, done), cursor=cursor)
    return len(batch)
