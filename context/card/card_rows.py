"""Read what earlier tasks left, in a fixed number of statements, the newest rows first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from ace.models import ObservedRepair, TaskCommand, TaskInstructions, TaskLookup
from ace.rules import instruction_lines
from ace.rules.instruction_lines import InstructionLine, ReadInstructions
from ace.rules.tool_calls.check_commands import CheckCommand
from common.caller import Caller
from context.files import file_use
from context.files.file_use import FileUse
from projects.models import Project

# The newest rows that are counted.
MAX_COMMANDS, MAX_REPAIRS, MAX_LOOKUPS, MAX_INSTRUCTIONS = 3_000, 1_000, 5_000, 60


@dataclass(frozen=True)
class CardRows:
    """The rows that the caller may see. `lines` are those of the instructions now."""

    commands: Sequence[TaskCommand]
    repairs: Sequence[ObservedRepair]
    lookups: Sequence[TaskLookup]
    lines: Sequence[InstructionLine]
    uses: Sequence[FileUse]

    @cached_property
    def checks(self) -> Mapping[InstructionLine, Sequence[CheckCommand]]:
        """The commands that each line names, for the few lines that name one."""
        named = (
            (line, instruction_lines.named_commands(line.text)) for line in self.lines
        )
        return {line: checks for line, checks in named if checks}


def read(project: Project, caller: Caller) -> CardRows:
    """Return the rows of the tasks that the caller may see."""
    repairs = (
        ObservedRepair.objects.in_reach(caller)
        .filter(project=project, machine="")
        .select_related("run")
        .defer("run__request", "run__result", "run__phases")
    )
    commands = TaskCommand.objects.in_reach(caller).filter(project=project)
    lookups = TaskLookup.objects.in_reach(caller).filter(project=project)
    read_files = TaskInstructions.objects.in_reach(caller).filter(project=project)
    newest = list(read_files.order_by("-pk")[:MAX_INSTRUCTIONS])
    seen = [
        (row.run_id, row.path, ReadInstructions.from_json(row.seen))
        for row in reversed(newest)
    ]
    return CardRows(
        commands=list(commands.order_by("-pk")[:MAX_COMMANDS]),
        repairs=list(repairs.order_by("-pk")[:MAX_REPAIRS]),
        lookups=list(lookups.order_by("-pk")[:MAX_LOOKUPS]),
        lines=list(instruction_lines.current(seen)),
        uses=file_use.count(project, [], caller),
    )
