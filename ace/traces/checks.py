"""Store the commands with which a finished task built, tested, linted or ran the project."""

from __future__ import annotations

from collections.abc import Sequence

from access.restored_caller import caller_of
from ace.models import AceRun, TaskCommand
from ace.repairs import failed_call
from ace.repairs.failed_call import FailureKind
from ace.repairs.record import session_of
from ace.task import check_commands, shell
from ace.task.check_commands import CheckCommand, CheckKind
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
        folder = _folder(call, run.analysis.roots)
        checks = check_commands.find(call.command, folder) if call.command else []
        outcome = _outcome(call) if checks else Outcome.WORKED
        if outcome != Outcome.WORKED and len(checks) > 1:
            continue  # which of them failed is not known
        for check in _known(checks, call) if outcome == Outcome.WORKED else checks:
            known = rows.pop((check.text, outcome), None)
            # In the order of the last uses: a line that failed last does not work.
            rows[check.text, outcome] = TaskCommand(
                id=uuid7(),
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
        _insert(list(rows.values())[-MAX_COMMANDS:])


def _folder(call: ToolCall, roots: Sequence[str]) -> str:
    """Return the folder below the root in which a call ran, or "" for the root."""
    return call.cwd.rstrip("/").removeprefix(roots[0]).strip("/") if roots else ""


@write
def _insert(rows: list[TaskCommand]) -> None:
    TaskCommand.objects.bulk_create(rows, ignore_conflicts=True)


def _known(checks: Sequence[CheckCommand], call: ToolCall) -> list[CheckCommand]:
    """Leave out the checks of which nothing says that they worked: another program hides it."""
    deciding = check_commands.find(shell.find_deciding(call.command))
    sure = {check_commands.core_of(check.text) for check in deciding}
    return [
        check
        for check in checks
        if check_commands.core_of(check.text) in sure
        or (check.kind == CheckKind.TEST and call.test_counts)
    ]


def _outcome(call: ToolCall) -> TaskCommand.CommandOutcome:
    """Return whether a command worked; one that finds faults in the code did its work."""
    kind = failed_call.classify(call)
    if kind in (FailureKind.LINT, FailureKind.COMPILE):
        return Outcome.FAULTS
    return Outcome.FAILED if kind or call.has_failed else Outcome.WORKED
