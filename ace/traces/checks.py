"""Store the commands with which a finished task built, tested, linted or ran the project."""

from __future__ import annotations

from itertools import islice

from access.restored_caller import caller_of
from ace.models import AceRun, TaskCommand
from ace.repairs import failed_call
from ace.repairs.failed_call import FailureKind
from ace.repairs.record import session_of
from ace.task import check_commands
from ace.task.task import ToolCall
from common.db import write
from common.ids import uuid7

MAX_COMMANDS = 40  # of one task
MAX_TIMES = 1_000  # of one command in one task
Outcome = TaskCommand.CommandOutcome


def store(run: AceRun) -> None:
    """Store the checks of a run; a second call stores nothing new."""
    rows: dict[tuple[str, str], TaskCommand] = {}
    session, person = session_of(run), caller_of(run).person
    for call in run.task.calls:
        checks = check_commands.find(call.command) if call.command else []
        outcome = _outcome(call) if checks else Outcome.WORKED
        if outcome != Outcome.WORKED and len(checks) > 1:
            continue  # which of them failed is not known
        for check in checks:
            known = rows.get((check.pattern, outcome))
            # The id of the first use: the ids of a run are in the order of first uses.
            rows[check.pattern, outcome] = TaskCommand(
                id=known.id if known else uuid7(),
                project=run.project,
                run=run,
                kind=check.kind,
                pattern=check.pattern,
                text=check.text,
                outcome=outcome,
                times=min((known.times if known else 0) + 1, MAX_TIMES),
                session=session,
                person=person,
            )
    if rows:
        _insert(list(islice(rows.values(), MAX_COMMANDS)))


@write
def _insert(rows: list[TaskCommand]) -> None:
    TaskCommand.objects.bulk_create(rows, ignore_conflicts=True)


def _outcome(call: ToolCall) -> TaskCommand.CommandOutcome:
    """Return whether a command worked; one that finds faults in the code did its work."""
    kind = failed_call.classify(call)
    if kind in (FailureKind.LINT, FailureKind.COMPILE):
        return Outcome.FAULTS
    return Outcome.FAILED if kind or call.has_failed else Outcome.WORKED
