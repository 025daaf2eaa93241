"""Pair failed calls with the later calls of the same tool that succeeded.

Shell commands have their own pairs (`shell_repairs`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from ace.rules import error_patterns, error_signature, word_tables
from ace.rules.failures import failed_call
from ace.rules.failures.failed_call import FailureKind
from ace.rules.repairs import argument_changes
from ace.rules.repairs.argument_changes import ArgumentChange
from ace.rules.task import Task, ToolCall
from ace.rules.tool_calls import argument_leaves, shell_commands, tool_kinds

# In calls. A retry comes soon. After more calls, the same tool is used for something else.
WINDOW = 12
# If more arguments changed, the call is a different call, not a repair.
MAX_CHANGES = 4
MAX_ERROR = 600
MAX_COMMAND = 200

_WORD = re.compile(r"[A-Za-z]{3,40}")
# Words that are in most errors and say nothing about the cause.
_COMMON_WORDS = word_tables.read("error_words")


@dataclass(frozen=True)
class Repair:
    """A failed call and the call that fixed it.

    `change` is the argument that made the difference. It is None if no argument changed,
    but another call in between made the difference.
    """

    failed_call: ToolCall
    fixed_call: ToolCall
    change: ArgumentChange | None
    changes: tuple[ArgumentChange, ...]

    @property
    def key(self) -> str:
        return self.change.key if self.change else ""


@dataclass(frozen=True)
class Remedy:
    """A fix in words.

    If the result of an earlier call had the right value, `source` is that call and `value`
    is the value. `source` may also be the call that must come first.
    """

    action: str
    instead_of: str
    source: ToolCall | None = None
    value: str = ""


def find(task: Task) -> list[Repair]:
    """Pair every distinct error with the first call that avoids the error."""
    latest: dict[tuple[str, int], Repair] = {}
    for call in task.calls:
        if call.has_failed and not call.command and not _is_of_harness(call):
            repair = _find_repair(task, call)
            if repair:
                error = error_signature.mask_values(error_text(call))
                latest[(error, repair.fixed_call.index)] = repair
    return list(latest.values())


def _is_of_harness(call: ToolCall) -> bool:
    """Whether the harness or a person refused the call; the tool itself said nothing."""
    kinds = (FailureKind.ETIQUETTE, FailureKind.REFUSED)
    return failed_call.classify(call) in kinds


def span(call: ToolCall, repair: Repair) -> tuple[int, int]:
    """Return the span of the call's arguments that the repair changes."""
    value = None
    if repair.change:
        is_failed_call = call.index == repair.failed_call.index
        value = repair.change.before if is_failed_call else repair.change.after
    return argument_changes.locate(call, repair.change, value)


def error_text(call: ToolCall) -> str:
    """Return the part of a failed result that states the error."""
    text = call.result.strip()
    found = error_patterns.EXCEPTION.search(text[-MAX_ERROR:])
    if found and error_patterns.TRACEBACK in text.lower()[:2_000]:
        return found[0]
    return text[:MAX_ERROR]


def words(text: str) -> frozenset[str]:
    """Return the words of a text in the singular, without the common words of errors."""
    found = (
        word for part in tool_kinds.split_name(text) for word in _WORD.findall(part)
    )
    return frozenset(
        word.lower().rstrip("s") for word in found if word.lower() not in _COMMON_WORDS
    )


def error_words(call: ToolCall) -> frozenset[str]:
    text = error_text(call)
    parts = re.split(r"[^A-Za-z0-9_]+", text)[:120]
    return frozenset().union(*(words(part) for part in parts))


def tool_label(call: ToolCall) -> str:
    """Return the name of the tool. For a shell command, return the name of the program."""
    if not call.command:
        return call.tool_name
    parsed = shell_commands.parse(call.command[:MAX_COMMAND])
    return parsed[0].program if parsed else call.tool_name


def _find_repair(task: Task, failed_call: ToolCall) -> Repair | None:
    for fixed_call in task.calls[
        failed_call.index + 1 : failed_call.index + 1 + WINDOW
    ]:
        if fixed_call.tool_name != failed_call.tool_name:
            continue
        if fixed_call.has_failed is not False:
            continue
        if repair := _compare(task, failed_call, fixed_call):
            return repair
    return None


def _compare(task: Task, failed_call: ToolCall, fixed_call: ToolCall) -> Repair | None:
    changes = argument_changes.compare(failed_call.arguments, fixed_call.arguments)
    if not changes:
        between = task.calls[failed_call.index + 1 : fixed_call.index]
        return Repair(failed_call, fixed_call, None, ()) if between else None
    if len(changes) > MAX_CHANGES:
        return None
    total = len(argument_leaves.leaves(failed_call.arguments))
    change = _find_change(failed_call, changes, total)
    return Repair(failed_call, fixed_call, change, tuple(changes)) if change else None


def _find_change(
    failed_call: ToolCall, changes: list[ArgumentChange], total: int
) -> ArgumentChange | None:
    """Return the change that fixed the call, or None.

    It is a renamed argument, the change that the error names most clearly, or the only
    change.
    """
    if new_name := _renamed_argument(changes):
        return new_name
    blame = {change: _blame(failed_call, change) for change in changes}
    most = max(blame.values())
    named = [change for change in changes if blame[change] == most]
    if most and len({change.key for change in named}) == 1:
        return named[0]
    if most or len(changes) != 1 or total < 2:
        return None
    return None if _names_another(failed_call, changes[0]) else changes[0]


def _renamed_argument(changes: list[ArgumentChange]) -> ArgumentChange | None:
    if len(changes) != 2:
        return None
    gone = [one for one in changes if one.after is argument_changes.MISSING]
    new = [one for one in changes if one.before is argument_changes.MISSING]
    return new[0] if gone and new and gone[0].before == new[0].after else None


def _blame(failed_call: ToolCall, change: ArgumentChange) -> int:
    """Return how clearly the error names the changed argument.

    Return 3 if the error quotes the old or new value, 2 if it contains the name of the
    argument, 1 if it contains a word of the old value, and 0 otherwise.
    """
    error = error_text(failed_call).lower()
    for value in (change.before, change.after):
        text = str(value).lower()
        plain = isinstance(value, str | int | float) and not isinstance(value, bool)
        if plain and len(text) >= 2 and _stands_in(text, error):
            return 3
    known = error_words(failed_call)
    if words(change.key) & known or _stands_in(change.key.lower(), error):
        return 2
    return 1 if _value_words(change) & known else 0


def _stands_in(text: str, error: str) -> bool:
    start = error.find(text[:200])
    if start < 0:
        return False
    end = start + len(text[:200])
    around = error[start - 1 : start] + error[end : end + 1]
    return not any(char.isalnum() for char in around)


def _value_words(change: ArgumentChange) -> frozenset[str]:
    short = isinstance(change.before, str) and len(change.before) <= 60
    return words(change.before) if short else frozenset()


def _names_another(failed_call: ToolCall, change: ArgumentChange) -> bool:
    """Return whether the error names an unchanged argument. Then the change is not the fix."""
    rest = argument_leaves.leaves(failed_call.arguments)
    return any(
        _blame(failed_call, ArgumentChange(path, path.rpartition(".")[2], value, value))
        for path, value in rest.items()
        if path != change.path
    )


def earlier_results(task: Task, before: int) -> Iterator[ToolCall]:
    """Yield the successful calls before a step, newest first."""
    for call in reversed(task.calls[:before]):
        if not call.has_failed and call.result:
            yield call
