"""In which language a project's texts are stemmed, and what a change of it starts."""

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
    """The language, which cannot change until this transaction ends.

    Writers hold it together, before any row. It is read anew, after the lock.
    """
    *_, rows = execute_many(*pin_statements(project_id))
    return read_pinned(rows)


def pin_statements(project_id: uuid.UUID) -> list[Statement]:
    """The statements of `hold`, to be sent with others; `held` reads the last one's rows."""
    language = LANGUAGE_SQL, [SearchSettings().language, project_id]
    return [shared_lock_statement(_lock(project_id)), language]


def read_pinned(rows: Sequence[tuple[Any, ...]]) -> str:
    if not rows:
        raise Project.DoesNotExist
    ((language,),) = rows
    return str(language)


# Asked by every write: as a queryset, building it took longer than answering.
LANGUAGE_SQL = """
SELECT coalesce(settings #>> '{search,language}', %s)
FROM projects_project WHERE id = %s
"""


def start_reindex(project: Project) -> None:
    """Start the job that writes every row's lexemes anew.

    First what is written in the old language commits, so that the job finds it. The
    job of an earlier change is given up, because this one begins with the first row.
    """
    lock_in_transaction(_lock(project.pk))
    earlier = Job.objects.filter(kind=KIND, project_id=project.pk).unfinished()
    earlier.update(state=Job.State.CANCELLED, finished_at=timezone.now())
    queue.enqueue(KIND, project_id=project.pk)


def is_reindex_unfinished(project: Project) -> bool:
    """Whether the job of the last change was ended before it had written every row."""
    last = Job.objects.filter(kind=KIND, project_id=project.pk).order_by("pk").last()
    ended = (Job.State.FAILED, Job.State.CANCELLED, Job.State.DISCARDED)
    return last is not None and last.state in ended


def _lock(project_id: uuid.UUID) -> str:
    return f"search language:{project_id}"
