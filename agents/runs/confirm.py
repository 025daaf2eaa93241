"""Go on with a run that waits for a person to allow or to forbid a call."""

from __future__ import annotations

from dataclasses import dataclass

from django.utils import timezone

from agents.models import AgentRun
from agents.runs.callers import caller_of
from agents.runs.slots import refuse_too_many
from agents.steps import AgentCall
from audit import trail
from common import errors
from common.caller import Caller, Role
from common.db import write


class RunNotConfirming(errors.StateConflict):
    """The run does not wait for a confirmation; read its status."""

    code = "run_not_confirming"


class OwnRun(errors.Forbidden):
    """A key below curator does not allow a call of its own run; have a person, a curator or
    another person's key allow it.
    """

    code = "own_run"


@dataclass(frozen=True)
class ConfirmationAnswer:
    """What a person said of the call that waited."""

    run: AgentRun
    allowed_call: AgentCall | None
    forbidden_call: AgentCall | None


@write
def confirm(
    run: AgentRun, caller: Caller, *, is_allowed: bool, status: AgentRun.RunStatus
) -> ConfirmationAnswer:
    """Record the answer of a person, and set the run to `status`; the first answer counts.

    Refuse with TooManyRuns if there is no room; then the run still waits.
    """
    caller.require(Role.WRITER, run.project_id)
    if is_allowed:
        _refuse_own_run(run, caller)
    refuse_too_many(run.project)
    locked = AgentRun.objects.select_for_update(no_key=True).get(pk=run.pk)
    if locked.status != AgentRun.RunStatus.CONFIRMING:
        raise RunNotConfirming
    call = AgentCall(**locked.pending_call)
    locked.project = run.project
    locked.status, locked.pending_call = status, None
    locked.alive_at = timezone.now()
    locked.save(update_fields=["status", "pending_call", "alive_at"])
    trail.record(
        caller,
        "agent.confirm",
        project_id=run.project_id,
        object_type="agent_run",
        object_id=run.pk,
        tool=call.action,
        allowed=is_allowed,
    )
    if is_allowed:
        return ConfirmationAnswer(locked, call, None)
    return ConfirmationAnswer(locked, None, call)


def _refuse_own_run(run: AgentRun, caller: Caller) -> None:
    """Refuse the key whose model chose the call: somebody else must have looked at it."""
    is_key = caller.key_id is not None and not caller.may(Role.CURATOR, run.project_id)
    if is_key and caller.own_names & caller_of(run).own_names:
        raise OwnRun
