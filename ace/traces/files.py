"""Store the files that a finished task read, changed or deleted."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from ace.models import AceRun, TaskFile
from ace.repairs.record import session_of
from ace.task import file_paths, file_words
from ace.task.file_paths import Relation
from common.db import write

MAX_FILES = 60  # of one task, those that it changed first
_USES: dict[Relation, TaskFile.FileAction] = {
    "read": TaskFile.FileAction.READ,
    "modified": TaskFile.FileAction.CHANGED,
    "created": TaskFile.FileAction.CHANGED,
    "deleted": TaskFile.FileAction.DELETED,
}


def store(run: AceRun) -> None:
    """Store the files of a run; a second call stores nothing new."""
    if rows := _rows(run):
        _insert(rows)


@write
def _insert(rows: Sequence[TaskFile]) -> None:
    TaskFile.objects.bulk_create(rows, ignore_conflicts=True)


def _rows(run: AceRun) -> list[TaskFile]:
    task, roots = run.task, run.analysis.roots
    described = {
        file_paths.relative(path, roots): words
        for path, words in file_words.of_task(task).items()
    }
    goal = file_words.of_goal(task)
    session, branch = session_of(run), str(run.request.get("branch") or "")[:255]
    rows: dict[str, TaskFile] = {}
    for link in run.analysis.links:
        path = file_paths.relative(link.path, roots)
        use = _USES.get(link.relation)
        if use is None or not file_paths.is_inside(path):
            continue
        words = described.get(path) or file_words.FileWords()
        own = words.hashes()
        rows[path] = TaskFile(
            project=run.project,
            run=run,
            path=path,
            use=use,
            words=own
            if use == TaskFile.FileAction.READ
            else list(dict.fromkeys(goal + own)),
            purpose=words.purpose,
            session=session,
            branch=branch,
        )
    changed_first = sorted(
        rows.values(), key=lambda row: row.use == TaskFile.FileAction.READ
    )
    return list(islice(changed_first, MAX_FILES))
