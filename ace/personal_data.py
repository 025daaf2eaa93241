"""In a purge, erase the requests, reflections and repairs of tasks."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from typing import Any

from django.db.models import Q
from django.utils import timezone

from ace import run as runs
from ace.models import (
    AceRun,
    BannerLine,
    ModelReflection,
    ObservedRepair,
    Reflection,
    TaskCommand,
    TaskFile,
)
from common import errors
from common.caller import Caller
from common.erasure.handlers import (
    ErasableColumns,
    ErasureHandler,
    RowQuery,
    register,
    rows_of,
)
from common.erasure.redaction import columns_redactor, json_redactor, redact
from common.erasure.references import rows_referencing
from common.erasure.scope import ErasureScope
from jobs.models import Job

State = AceRun.RunState
KEPT_KEYS = (
    "agent_id",
    "outcome",
    "feedback_source",
    "counted_as",
    "status",
    "memory_type",
    "memory_status",
    "relation_type",
    "operation",
    "category",
    "label",
    "kind",
)
JSON = json_redactor(*KEPT_KEYS)
# The parts of an ACEResult that contain texts from the playbook.
OF_PLAYBOOK = columns_redactor(
    dict.fromkeys(
        ("related_playbook_entries", "updated_bullets", "playbook_delta"), JSON
    )
)
NAME_OF_CODE = "a name of the code"


class RunUnfinished(errors.StateConflict):
    """A run of this memory is still in progress; try again when it is finished."""

    code = "run_unfinished"


def _runs(erasure: ErasureScope) -> Any:
    return AceRun.objects.filter(pk__in=erasure.ids_of("run"))


def _rows_of_other_runs(model: Any, column: str, run: str = "pk") -> RowQuery:
    """Return a query for the rows of other runs that name what the purge erases.

    A row names an erased entry or a delta of an erased entry.
    """

    def rows(erasure: ErasureScope) -> Any:
        ids = [*erasure.ids_of("entry"), *erasure.ids_of("delta")]
        of_project = model.objects.filter(project_id=erasure.project_id)
        others = of_project.exclude(**{f"{run}__in": erasure.ids_of("run")})
        return rows_referencing(others, ids, column) if ids else of_project.none()

    return rows


def _reflections(erasure: ErasureScope) -> Any:
    """Select the reflections that read what is erased, or taught it."""
    rows = ModelReflection.objects.filter(project_id=erasure.project_id)
    read = Q(session__in=erasure.ids_of("session")) | Q(
        session__messages__in=erasure.ids_of("message")
    )
    read |= Q(run__in=erasure.ids_of("run"))
    ids = [*erasure.ids_of("entry"), *erasure.ids_of("delta")]
    taught = rows_referencing(rows, ids, "results") if ids else rows.none()
    chosen = [*rows.filter(read).values_list("pk", flat=True)]
    chosen += taught.values_list("pk", flat=True)
    return rows.filter(pk__in=chosen)


@register
class RunErasure(ErasureHandler):
    erasable = (
        ErasableColumns(
            AceRun, _runs, dict.fromkeys(("request", "phases", "result"), JSON)
        ),
        ErasableColumns(
            Reflection,
            lambda erasure: Reflection.objects.filter(run__in=erasure.ids_of("run")),
            {
                **dict.fromkeys(("outcome_reason", "abstained"), redact),
                **dict.fromkeys(
                    ("errors", "insights", "lessons", "votes", "related", "supported"),
                    JSON,
                ),
            },
        ),
        ErasableColumns(
            AceRun, _rows_of_other_runs(AceRun, "result"), {"result": OF_PLAYBOOK}
        ),
        ErasableColumns(ModelReflection, _reflections, deleted=("answer", "results")),
        ErasableColumns(
            ObservedRepair,
            rows_of(ObservedRepair, "run", "run"),
            deleted=("seen",),
            derived=("signature", "cure", "session", "machine"),
        ),
        ErasableColumns(
            TaskFile,
            rows_of(TaskFile, "run", "run"),
            deleted=("path", "purpose", "session", "branch"),
            derived=("words",),
        ),
        ErasableColumns(
            TaskCommand,
            rows_of(TaskCommand, "run", "run"),
            deleted=("pattern", "text", "session"),
        ),
        ErasableColumns(
            BannerLine, rows_of(BannerLine, "run", "run"), deleted=("digest", "session")
        ),
    )
    no_text = {
        AceRun: {
            "agent_id": "names an agent",
            "actor": "names the key or account that reported",
        },
        BannerLine: {
            "person": "a digest of the name of the key or account that reported",
        },
        ModelReflection: {
            "state": NAME_OF_CODE,
            "lease_holder": "the id of a key or an account",
            "model": "names a model, or the agent that asked one",
            "person": "a digest of the name of the key or account that reported",
            "actor": "names the key or account that reported",
            "agent_id": "names an agent",
        },
        ObservedRepair: {
            "kind": NAME_OF_CODE,
            "person": "a digest of the name of the key or account that reported",
        },
        TaskCommand: {
            **dict.fromkeys(("kind", "outcome"), NAME_OF_CODE),
            "person": "a digest of the name of the key or account that reported",
        },
        TaskFile: {"use": NAME_OF_CODE},
        Reflection: {
            **dict.fromkeys(("outcome", "outcome_source"), NAME_OF_CODE),
        },
    }

    def expand(self, erasure: ErasureScope) -> None:
        rows = AceRun.objects.filter(memory__in=erasure.ids_of("memory"))
        erasure.add("run", rows.values_list("pk", flat=True))

    def lock(self, erasure: ErasureScope) -> None:
        """Refuse the purge while a process may be learning from the rows to purge."""
        rows = _runs(erasure).order_by("pk").select_for_update(no_key=True)
        if runs.is_at_work(list(rows.values_list("pk", flat=True))):
            raise RunUnfinished

    def prepare(
        self, erasure: ErasureScope, purge_id: uuid.UUID, caller: Caller
    ) -> None:
        """Mark the interrupted runs as done and cancel their jobs.

        After the purge, these runs have no texts to learn from.
        """
        unfinished = _runs(erasure).exclude(state=State.DONE)
        _cancel_jobs(unfinished.values_list("pk", flat=True))
        unfinished.update(state=State.DONE, finished_at=timezone.now())


def _cancel_jobs(run_ids: Iterable[uuid.UUID]) -> None:
    Job.objects.filter(
        kind=runs.KIND,
        key__in=[str(pk) for pk in run_ids],
        state__in=[Job.State.WAITING, Job.State.FAILED],
    ).update(state=Job.State.CANCELLED, finished_at=timezone.now())
