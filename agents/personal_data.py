"""In a purge, delete a user's runs, and erase what other runs were told of purged memories.

The tools of a project are its owner's and stay.
"""

from __future__ import annotations

import uuid
from typing import Any

from django.db.models import Q
from django.utils import timezone

from ace.personal_data import RunUnfinished
from agents.learning import invocation_job
from agents.models import AgentRun, AgentTool
from agents.runs.conversation import find_outcomes
from agents.runs.heartbeat import MAX_SILENCE
from agents.runs.run_job import KIND
from common.erasure.handlers import ErasableColumns, ErasureHandler, register, rows_of
from common.erasure.redaction import json_redactor, redact
from common.erasure.references import rows_referencing
from common.erasure.scope import ErasureScope
from conversations.models import Invocation
from conversations.personal_data import owner_conditions
from jobs.models import Job

BY_OWNER = "what an owner set for the tools of a project"
JSON = json_redactor("action", "call_id", "is_error", "is_history")


def _ids_told(erasure: ErasureScope) -> list[uuid.UUID]:
    """Return the ids of other runs that were given, or that stored, a memory of the purge."""
    ids = frozenset(erasure.ids_of("memory"))
    gone = frozenset(erasure.ids_of("agent_run"))
    if ids and (ids, gone) not in erasure.found:
        of_project = AgentRun.objects.filter(project_id=erasure.project_id)
        others = of_project.exclude(pk__in=gone)
        told = rows_referencing(others, list(ids), "memory", "learned")
        erasure.found[ids, gone] = list(told.values_list("pk", flat=True))
    found: list[uuid.UUID] = erasure.found.get((ids, gone), [])
    return found


def _runs_told(erasure: ErasureScope) -> Any:
    return AgentRun.objects.filter(pk__in=_ids_told(erasure))


def _invocations_told(erasure: ErasureScope) -> Any:
    return Invocation.objects.filter(run_id__in=_ids_told(erasure))


def _jobs_told(erasure: ErasureScope) -> Any:
    """Return the finished jobs of these runs: they name calls that a person allowed."""
    keys = list(map(str, _ids_told(erasure)))
    return Job.objects.filter(kind=KIND, key__in=keys).exclude(finished_at=None)


@register
class AgentErasure(ErasureHandler):
    erasable = (
        ErasableColumns(
            Invocation, _invocations_told, dict.fromkeys(("summary", "result"), redact)
        ),
        ErasableColumns(
            AgentRun,
            _runs_told,
            {"steps": JSON, "pending_call": JSON, "answer": redact},
        ),
        ErasableColumns(Job, _jobs_told, {"args": JSON}),
        ErasableColumns(
            AgentRun,
            rows_of(AgentRun, "agent_run"),
            deleted=(
                "conversation_id",
                "user_id",
                "request",
                "error",
                "memory",
                "learned",
            ),
        ),
    )
    no_text = {
        AgentRun: {
            "agent_id": "names an agent",
            "actor": "names the key or account that asked",
        },
        AgentTool: dict.fromkeys(
            (
                *("name", "description", "url", "headers", "listing"),
                *("groups", "states"),
            ),
            BY_OWNER,
        ),
    }

    def expand(self, erasure: ErasureScope) -> None:
        _, of_users = owner_conditions(erasure)
        about = Q(session_id__in=erasure.ids_of("session"))
        rows = AgentRun.objects.filter(
            about if of_users is None else about | of_users,
            project_id=erasure.project_id,
        )
        erasure.add("agent_run", rows.values_list("pk", flat=True))
        messages = find_outcomes(_ids_told(erasure))
        erasure.add("message", messages.values_list("pk", flat=True))

    def lock(self, erasure: ErasureScope) -> None:
        """Refuse the purge while a process still writes what a run of the purge was told.

        A run that waits in the queue repeats a call that a person allowed, so it counts if
        it was told; one of the user's own goes with its texts.
        """
        own, told = erasure.ids_of("agent_run"), _ids_told(erasure)
        chosen = AgentRun.objects.filter(pk__in=[*own, *told])
        locked = list(chosen.order_by("pk").select_for_update(no_key=True))
        waits = {run.pk for run in locked if run.status == AgentRun.RunStatus.QUEUED}
        if any(map(_is_at_work, locked)) or waits & set(told) or _is_learned_from(told):
            raise RunUnfinished(
                "A run of the agent for this user, or one that was given this memory, is "
                "still in progress; try again when it is finished."
            )


def _is_at_work(run: AgentRun) -> bool:
    alive = timezone.now() - MAX_SILENCE
    return run.status == AgentRun.RunStatus.RUNNING and run.alive_at > alive


def _is_learned_from(run_ids: list[uuid.UUID]) -> bool:
    """Whether a worker writes what one of these runs has taught."""
    jobs = Job.objects.filter(
        kind=invocation_job.KIND,
        key__in=list(map(str, run_ids)),
        state=Job.State.RUNNING,
        lease_until__gt=timezone.now(),
    )
    return jobs.exists()
