"""Store which paths a finished task looked for, and what it saw of the instructions."""

from __future__ import annotations

from ace.fixes.record import session_of
from ace.models import AceRun, TaskInstructions, TaskLookup
from ace.rules import instruction_lines, path_lookups
from ace.rules.task import Task
from common.db import write

MAX_INSTRUCTIONS = 10  # files of one task


def store(run: AceRun, task: Task) -> None:
    """Store the lookups of a run; a second call stores nothing new."""
    session = session_of(run)
    lookups = [
        TaskLookup(
            project=run.project, run=run, path=path, outcome=outcome, session=session
        )
        for path, outcome in path_lookups.find(task).items()
    ]
    read = list(instruction_lines.of_task(task).items())[:MAX_INSTRUCTIONS]
    instructions = [
        TaskInstructions(project=run.project, run=run, path=path, seen=seen.to_json())
        for path, seen in read
    ]
    if lookups or instructions:
        _insert(lookups, instructions)


@write
def _insert(lookups: list[TaskLookup], instructions: list[TaskInstructions]) -> None:
    TaskLookup.objects.bulk_create(lookups, ignore_conflicts=True)
    TaskInstructions.objects.bulk_create(instructions, ignore_conflicts=True)
