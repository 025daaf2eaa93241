"""Read what earlier tasks left, in a fixed number of statements, the newest rows first."""

from __future__ import annotations

import datetime as dt
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import or_
from typing import NamedTuple

from django.db.models import Q

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


class CommandRow(NamedTuple):
    """The columns of a `TaskCommand` that the card needs."""

    id: uuid.UUID
    run_id: uuid.UUID
    kind: str
    pattern: str
    text: str
    outcome: str
    session: str
    created_at: dt.datetime


class LookupRow(NamedTuple):
    """The columns of a `TaskLookup` that the card needs."""

    run_id: uuid.UUID
    path: str
    outcome: str
    session: str


@dataclass(frozen=True)
class CardRows:
    """The rows that the caller may see, the newest first.

    `lines` are those of the instructions now, and `lookups` those of the paths that they
    name.
    """

    commands: Sequence[CommandRow]
    repairs: Sequence[ObservedRepair]
    lookups: Sequence[LookupRow]
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
    lines = _read_lines(project, caller)
    newest = commands.order_by("-pk").values_list(*CommandRow._fields)
    return CardRows(
        commands=[CommandRow(*row) for row in newest[:MAX_COMMANDS]],
        repairs=list(repairs.order_by("-pk")[:MAX_REPAIRS]),
        lookups=_read_lookups(project, lines, caller),
        lines=lines,
        uses=file_use.count(project, [], caller),
    )


def _read_lines(project: Project, caller: Caller) -> list[InstructionLine]:
    rows = TaskInstructions.objects.in_reach(caller).filter(project=project)
    newest = list(rows.order_by("-pk")[:MAX_INSTRUCTIONS])
    seen = [
        (row.run_id, row.path, ReadInstructions.from_json(row.seen))
        for row in reversed(newest)
    ]
    return list(instruction_lines.current(seen))


def _read_lookups(
    project: Project, lines: Iterable[InstructionLine], caller: Caller
) -> list[LookupRow]:
    """Return which of the newest lookups are of a path that a line names."""
    paths = {
        path for line in lines for path in instruction_lines.named_paths(line.text)
    }
    if not paths:
        return []
    rows = TaskLookup.objects.in_reach(caller).filter(project=project)
    newest = rows.order_by("-pk").values("pk")[:MAX_LOOKUPS]
    named = reduce(or_, (Q(path__contains=path) for path in sorted(paths)))
    found = TaskLookup.objects.filter(named, pk__in=newest).order_by("-pk")
    return [LookupRow(*row) for row in found.values_list(*LookupRow._fields)]
