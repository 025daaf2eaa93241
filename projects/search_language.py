"""The language in which a project's texts are stemmed, and the job after its change."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any

from django.utils import timezone

from common.db import Statement, execute_many
from common.locks import lock_in_transaction, shared_lock_statement
from jobs import queue
from jobs.models import Job
from projects.models import Project
from projects.options import SearchSettings

KIND = "reindex"  # run by `search.reindex`


def pin_language(project_id: uuid.UUID) -> str:
    """Return the language, and keep it from changing until this transaction ends.

    Writers share the lock and take the lock before they lock any row. The language is read
    after the lock is taken.
    """
    *_, rows = execute_many(*pin_statements(project_id))
    return read_pinned(rows)


def pin_statements(project_id: uuid.UUID) -> list[Statement]:
    """Return the statements of `pin_language`, to send together with other statements.

    `read_pinned` reads the language from the rows of the last statement.
    """
    language = LANGUAGE_SQL, [SearchSettings().language, project_id]
    return [shared_lock_statement(_lock(project_id)), language]


def read_pinned(rows: Sequence[tuple[Any, ...]]) -> str:
    if not rows:
        raise Project.DoesNotExist
    ((language,),) = rows
    return str(language)


# Every write runs this query, and building a queryset takes longer than the query itself.
LANGUAGE_SQL = """
SELECT coalesce(settings #>> '{search,language}', %s)
FROM projects_project WHERE id = %s
"""


def start_reindex(project: Project) -> None:
    """Start the job that recomputes every row's lexemes.

    The lock waits until writes in the old language commit, so that the job finds them.
    The job of an earlier change is cancelled, because this one starts with the first row.
    """
    lock_in_transaction(_lock(project.pk))
    earlier = Job.objects.filter(kind=KIND, project_id=project.pk).unfinished()
    earlier.update(state=Job.State.CANCELLED, finished_at=timezone.now())
    queue.enqueue(KIND, project_id=project.pk)


def is_reindex_unfinished(project: Project) -> bool:
    """Return whether the last reindex job ended before it had written every row."""
    last = Job.objects.filter(kind=KIND, project_id=project.pk).order_by("pk").last()
    ended = (Job.State.FAILED, Job.State.CANCELLED, Job.State.DISCARDED)
    return last is not None and last.state in ended


def _lock(project_id: uuid.UUID) -> str:
    return f"search language:{project_id}"
