"""Say whether a repair or a lesson leads to another package, remote, host or index.

Such a lesson always waits for a person: a call is text that the client sends, and one wrong
letter in a name is enough to run somebody else's code.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ace.repairs import arguments
from ace.repairs.cures import TaskRepair
from ace.task import tool_calls
from ace.task.task import Task, ToolCall
from common.text.supply import (
    Source,
    describe_change,
    find_argument_sources,
    find_sources,
)

_CODE = re.compile(r"`([^`\n]{1,300})`|\"([^\"\n]{1,300})\"")


def leads_elsewhere(task: Task, repair: TaskRepair) -> bool:
    """Return whether what worked names a package or host that the failed call does not."""
    indexes = {repair.first_index, repair.fixed_index} - {None}
    return any(of_calls(repair.failure.call, task.calls[n]) for n in indexes if n)


def of_calls(failed: ToolCall, fixed: ToolCall) -> str:
    """Return a sentence about what a working call names and a failed call does not."""
    texts = [failed.command] if failed.command else _values(failed)
    return describe_change(_sources(failed), _sources(fixed), texts)


def of_lesson(task: Task, content: str) -> str:
    """Return a sentence about what a lesson names and a failed call of its kind does not."""
    named = {
        source for a, b in _CODE.findall(content) for source in find_sources(a or b)
    }
    if not named:
        return ""
    for call in task.calls:
        failed = _sources(call) if call.has_failed else frozenset()
        kinds = {kind for kind, _ in failed}
        same_kind = {source for source in named if source[0] in kinds}
        if change := describe_change(failed, failed | same_kind):
            return change
    return ""


def _sources(call: ToolCall) -> frozenset[Source]:
    if call.command:
        return find_sources(call.command)
    leaves = tool_calls.leaves(call.arguments)
    return frozenset().union(
        *(
            find_argument_sources(arguments.key(path), value)
            for path, value in leaves.items()
        )
    )


def _values(call: ToolCall) -> Iterator[str]:
    leaves = tool_calls.leaves(call.arguments)
    return (value for value in leaves.values() if isinstance(value, str))
