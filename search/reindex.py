"""The job that writes lexemes anew: after the language of a project has changed."""

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

BATCH = 100  # rows written in one transaction; what a killed attempt repeats


@dataclass(frozen=True)
class IndexedTable:
    """A table whose rows are searched, and how their lexemes are made."""

    corpus: str
    rows: Callable[[], QuerySet[Any]]
    # Those of the rows that statistics are counted over.
    counted: Callable[[], QuerySet[Any]]
    # Sets the search columns of a row, in a language.
    fill: Callable[[Any, str], None]
    # Locks what docs/tables.md has locked before the rows.
    hold: Callable[[uuid.UUID], object] = lambda project_id: None


INDEXED_TABLES: list[IndexedTable] = []


@runner.handler(search_language.KIND, lease=timedelta(minutes=5))
def reindex_project(run: runner.JobRun) -> dict[str, Any] | None:
    """Write every row in the project's language, then count what there is of it."""
    project_id = run.job.project_id
    if project_id is None or not Project.objects.filter(pk=project_id).exists():
        return None
    of_project = [
        shelf.rows().filter(project_id=project_id) for shelf in INDEXED_TABLES
    ]
    total = sum(rows.count() for rows in of_project)
    done = run.job.done
    for shelf in INDEXED_TABLES:
        while written := _write_next(shelf, run, done, total):
            done += written
            run.yield_turn()
    for shelf in INDEXED_TABLES:
        run.step(done)
        with locks.no_timeouts():
            rows = shelf.counted()
            statistics.rebuild(rows, project_id=project_id, name=shelf.corpus)
    return {"rows": done}


@write
def _write_next(shelf: IndexedTable, run: runner.JobRun, done: int, total: int) -> int:
    """Write the rows after the cursor; how many there were."""
    project_id, cursor = run.job.project_id, run.job.cursor
    assert project_id
    shelf.hold(project_id)
    language = search_language.pin_language(project_id)
    after = uuid.UUID(cursor.get(shelf.corpus, uuid.UUID(int=0).hex))
    rows = shelf.rows().filter(project_id=project_id, pk__gt=after).order_by("pk")
    batch = list(rows.select_for_update(no_key=True)[:BATCH])
    for row in batch:
        shelf.fill(row, language)
        row.save(update_fields=["content_tsv"])
    if batch:
        done += len(batch)
        seen = cursor | {shelf.corpus: str(batch[-1].pk)}
        run.step(done, max(total, done), cursor=seen)
    return len(batch)
