"""Read what earlier tasks left, in a fixed number of statements, the newest rows first."""

from __future__ import annotations

import datetime as dt
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ace.models import ObservedRepair, TaskCommand
from common.caller import Caller
from context.files import file_use
from context.files.file_use import FileUse
from projects.models import Project

# The newest rows that are counted.
MAX_COMMANDS, MAX_REPAIRS = 3_000, 1_000


class CommandRow(NamedTuple):
    """The columns of a `TaskCommand` and its run that the card needs."""

    id: uuid.UUID
    run_id: uuid.UUID
    kind: str
    pattern: str
    text: str
    outcome: str
    session: str
    person: str
    run__is_attested: bool
    created_at: dt.datetime


@dataclass(frozen=True)
class CardRows:
    """The rows that the caller may see, the newest first."""

    commands: Sequence[CommandRow]
    repairs: Sequence[ObservedRepair]
    uses: Sequence[FileUse]


def read(project: Project, caller: Caller) -> CardRows:
    """Return the rows of the tasks that the caller may see; what linters find is of the code."""
    repairs = (
        ObservedRepair.objects.reachable(project, caller)
        .filter(machine="")
        .exclude(kind=ObservedRepair.RepairKind.LINT)
        .select_related("run")
        .defer("run__request", "run__result", "run__phases")
    )
    commands = TaskCommand.objects.reachable(project, caller)
    newest = commands.order_by("-pk").values_list(*CommandRow._fields)
    return CardRows(
        commands=[CommandRow(*row) for row in newest[:MAX_COMMANDS]],
        repairs=list(repairs.order_by("-pk")[:MAX_REPAIRS]),
        uses=file_use.count(project, [], caller),
    )
