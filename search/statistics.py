"""Document frequencies of a project's lexemes: counted by a job, never by a write."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence

import structlog
from django.db import Error, connection, transaction
from django.db.models import Model, QuerySet
from django.utils import timezone

from common import locks
from search.models import Corpus, LexemeStat

log = structlog.get_logger(__name__)

# A project is counted again when this many rows, or this share of the rows, are new since
# the last count (docs/ranking.md, "Counts"). With 20 % stale rows, 0.97 of the answers are
# still equal.
ROWS_SINCE = 50
SHARE_SINCE = 0.05
# A project with fewer rows is counted after any write, because the count takes about 30 ms.
SMALL = 1_000


def refresh(rows: QuerySet[Model], *, projects: Iterable[uuid.UUID], name: str) -> None:
    """Count again the projects with enough new rows.

    A project that cannot be counted keeps its old count, and the other projects are still
    counted. The error is raised after all projects. People notice a task that fails and
    misses its heartbeat, but they do not notice an error that is only logged.
    """
    first: Error | None = None
    for project_id in projects:
        try:
            _refresh(rows, project_id, name)
        except Error as error:
            log.error(
                "count_failed", project_id=str(project_id), corpus=name, exc_info=error
            )
            first = first or error
            if not connection.is_usable():
                connection.close()  # the next project needs a new one
    if first:
        raise first


def _refresh(rows: QuerySet[Model], project_id: uuid.UUID, name: str) -> None:
    """Count a project again, unless another process is counting it."""
    if not is_stale(rows, project_id=project_id, name=name):
        return
    with locks.try_advisory_lock(_lock_name(project_id, name)) as is_mine:
        if is_mine:
            # A very large project takes longer than the statement timeout.
            with locks.no_timeouts():
                rebuild(rows, project_id=project_id, name=name)


def _lock_name(project_id: uuid.UUID, name: str) -> str:
    return f"statistics:{name}:{project_id}"


def is_stale(rows: QuerySet[Model], *, project_id: uuid.UUID, name: str) -> bool:
    """Return whether enough rows are new since the last count; ids are time-ordered."""
    corpus = Corpus.objects.filter(project_id=project_id, name=name).first()
    newer = rows.filter(project_id=project_id)
    if corpus is None or corpus.newest_id is None:
        return newer.exists()
    enough = max(ROWS_SINCE, int(corpus.documents * SHARE_SINCE))
    if corpus.documents < SMALL:
        enough = 1
    since = newer.filter(pk__gt=corpus.newest_id).order_by()[:enough]
    return since.count() >= enough


def rebuild(rows: QuerySet[Model], *, project_id: uuid.UUID, name: str) -> Corpus:
    """Count the lexemes of a project's rows; readers see the old count until the end."""
    chosen = rows.filter(project_id=project_id)
    with transaction.atomic():
        locks.lock_in_transaction(_lock_name(project_id, name))
        newest = chosen.order_by("-pk").values_list("pk", flat=True).first()
        corpus, _ = Corpus.objects.update_or_create(
            project_id=project_id,
            name=name,
            defaults={
                "documents": chosen.count(),
                "newest_id": newest,
                "counted_at": timezone.now(),
            },
        )
        LexemeStat.objects.filter(corpus=corpus).delete()
        sql, params = chosen.order_by().values("content_tsv").query.sql_with_params()
        with connection.cursor() as cursor:
            cursor.execute(INSERT, [corpus.pk, _literal(sql, params)])
    return corpus


# ts_stat runs a query that is given as text. A count of 1 is not stored, because a lexeme
# without a count is taken to have the count 1.
INSERT = r"""
INSERT INTO search_lexemestat (corpus_id, lexeme, df)
SELECT %s, word, ndoc FROM ts_stat(%s)
WHERE ndoc > 1 AND word !~ '^[pom]:[0-9a-f-]{36}$'
"""


def _literal(sql: str, params: Sequence[object]) -> str:
    """Return the text of a query with its parameters filled in, quoted by the driver."""
    with connection.cursor() as cursor:
        filled: str = cursor.mogrify(sql, params)
    return filled


def forget(project_id: uuid.UUID) -> None:
    Corpus.objects.filter(project_id=project_id).delete()
