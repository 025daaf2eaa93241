"""Count what the newest tasks did with each file, in one statement."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db import connection

from ace.models import AceRun
from common.caller import Caller
from memories.scopes import Scope
from projects.models import Project

MAX_TASKS = 1_000  # the newest tasks that are counted; each has at most 60 files
DECAY = 40  # tasks after which a change counts e times less
MAX_PROMPTS = 6  # earlier requests of the session
# A session's own touches lose a fifth with each later task of the session.
SESSION_DECAY = 5

# tasks: the tasks that the caller may see, the newest first (age 1)
# matches: by file, in how many tasks it had each word of the request
SQL = """
WITH tasks AS (
    SELECT run_id, age FROM unnest(%(runs)s::uuid[]) WITH ORDINALITY AS task (run_id, age)
),
touches AS (
    SELECT touch.path, touch.use, touch.words, touch.purpose, touch.branch, touch.session, age
    FROM tasks JOIN ace_taskfile AS touch USING (run_id)
),
matches AS (
    SELECT path, jsonb_object_agg(word, tasks) AS found
    FROM (
        SELECT path, word, count(*) AS tasks FROM touches, unnest(words) AS word
        WHERE word = ANY(%(words)s::int[]) GROUP BY path, word
    ) AS counted
    GROUP BY path
)
SELECT
    touches.path,
    matches.found::text,
    sum(cardinality(words)) AS words,
    count(*) FILTER (WHERE use = 'changed') AS changes,
    coalesce(sum(exp(-age / %(decay)s::float)) FILTER (WHERE use = 'changed'), 0) AS recent,
    coalesce(sum(exp(-age / %(decay)s::float)) FILTER (
        WHERE use = 'changed' AND branch = %(branch)s AND branch <> ''
    ), 0) AS on_branch,
    coalesce(sum(exp(-age / %(session_decay)s::float) * CASE use WHEN 'changed' THEN 1 ELSE .4 END)
        FILTER (WHERE session = %(session)s::text), 0) AS in_session,
    (array_agg(purpose ORDER BY age) FILTER (WHERE purpose <> ''))[1] AS purpose,
    (array_agg(use ORDER BY age))[1] = 'deleted' OR coalesce(
        bool_or(file.last_seen_at < file.changed_at), false) AS is_gone
FROM touches
LEFT JOIN matches USING (path)
LEFT JOIN memories_file AS file
    ON file.project_id = %(project)s AND file.file_path = touches.path
GROUP BY touches.path, matches.found
"""


@dataclass(frozen=True)
class FileUse:
    """The use of a file by the counted tasks.

    `found` has the number of tasks in which the file had each word of the request, `words`
    the number of all its words. `recent`, `on_branch` and `in_session` are sums that an
    older task adds less to.
    """

    path: str
    found: Mapping[int, int] = field(default_factory=dict)
    words: int = 0
    changes: int = 0
    recent: float = 0.0
    on_branch: float = 0.0
    in_session: float = 0.0
    purpose: str = ""
    is_gone: bool = False


def count(
    project: Project,
    words: Sequence[int],
    caller: Caller,
    *,
    scope: Scope | None = None,
    session: str = "",
    branch: str = "",
) -> list[FileUse]:
    """Return the use of each file by the newest tasks that the caller may see."""
    runs = (
        AceRun.objects.reachable(project, caller, scope)
        .order_by("-pk")
        .values_list("pk", flat=True)[:MAX_TASKS]
    )
    ids = list(runs)
    if not ids:
        return []
    params: dict[str, Any] = {
        "runs": ids,
        "words": list(words),
        "decay": float(DECAY),
        "session_decay": float(SESSION_DECAY),
        "session": session or None,
        "branch": branch,
        "project": project.pk,
    }
    with connection.cursor() as cursor:
        cursor.execute(SQL, params)
        return [_read(row) for row in cursor.fetchall()]


def earlier_requests(
    project: Project, session: str, caller: Caller, scope: Scope | None = None
) -> list[str]:
    """Return what the session asked for before, the newest first."""
    if not session:
        return []
    runs = AceRun.objects.reachable(project, caller, scope).filter(
        files__session=session, files__project=project
    )
    newest = runs.order_by("-pk").values_list("pk", "request__goal").distinct()
    return [str(goal or "") for _, goal in newest[:MAX_PROMPTS]]


def _read(row: Sequence[Any]) -> FileUse:
    path, found, words, changes, recent, on_branch, in_session, purpose, is_gone = row
    counts = json.loads(found) if found else {}
    return FileUse(
        path=path,
        found={int(word): int(tasks) for word, tasks in counts.items()},
        words=int(words or 0),
        changes=changes,
        recent=recent,
        on_branch=on_branch,
        in_session=in_session,
        purpose=purpose or "",
        is_gone=is_gone,
    )
