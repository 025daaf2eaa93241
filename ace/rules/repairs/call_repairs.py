"""Failed calls and the later calls of the same tool that worked."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from dataclasses import dataclass

from ace.rules import error_patterns, error_signature, word_tables
from ace.rules.files import command_files
from ace.rules.repairs import argument_changes
from ace.rules.repairs.argument_changes import ArgumentChange
from ace.rules.task import Task, ToolCall
from ace.rules.tool_calls import argument_leaves, shell_commands, tool_kinds

# A retry comes soon; later calls of the tool are about something else.
WINDOW = 12
# More changed arguments than this make another call, not a repaired one.
MAX_CHANGES = 4
# Token overlap below which two commands are two different commands.
SAME_COMMAND = 0.5
MAX_ERROR = 600
MAX_COMMAND = 200

_WORD = re.compile(r"[A-Za-z]{3,40}")
# In every error, so in none in particular.
_EVERYWHERE = word_tables.read("error_words")


@dataclass(frozen=True)
class Repair:
    """`change` made the difference; None where the whole command or order did."""

    failed: ToolCall
    fixed: ToolCall
    change: ArgumentChange | None
    changes: tuple[ArgumentChange, ...]

    @property
    def key(self) -> str:
        return self.change.key if self.change else ""


@dataclass(frozen=True)
class Remedy:
    """`source` is the call that knew the right value, where one did."""

    action: str
    observed: str
    source: ToolCall | None = None
    needle: str = ""


def find(task: Task) -> list[Repair]:
    """Pair every distinct error with the call that first got past it."""
    latest: dict[tuple[str, int], Repair] = {}
    for call in task.calls:
        if call.failed:
            repair = _find_repair(task, call)
            if repair:
                error = error_signature.mask_values(error_text(call))
                latest[(error, repair.fixed.index)] = repair
    return list(latest.values())


def span(call: ToolCall, repair: Repair) -> tuple[int, int]:
    """The part of the call's arguments that the repair is about."""
    value = None
    if repair.change:
        failed = call.index == repair.failed.index
        value = repair.change.before if failed else repair.change.after
    return argument_changes.locate(call, repair.change, value)


def error_text(call: ToolCall) -> str:
    """The part of a failed result that tells the error: a report's last lines."""
    text = call.result.strip()
    found = error_patterns.EXCEPTION.search(text[-MAX_ERROR:])
    if found and error_patterns.TRACEBACK in text.lower()[:2_000]:
        return found[0]
    return text[:MAX_ERROR]


def words(text: str) -> frozenset[str]:
    """Telling words, singular: `flights` is `flight`."""
    found = (
        word for part in tool_kinds.split_name(text) for word in _WORD.findall(part)
    )
    return frozenset(
        word.lower().rstrip("s") for word in found if word.lower() not in _EVERYWHERE
    )


def error_words(call: ToolCall) -> frozenset[str]:
    text = error_text(call)
    parts = re.split(r"[^A-Za-z0-9_]+", text)[:120]
    return frozenset().union(*(words(part) for part in parts))


def tool_label(call: ToolCall) -> str:
    """The name people know the tool by; in a shell that is the program."""
    if not call.command:
        return call.tool_name
    parsed = shell_commands.parse(call.command[:MAX_COMMAND])
    return parsed[0].program if parsed else call.tool_name


def _find_repair(task: Task, failed: ToolCall) -> Repair | None:
    for fixed in task.calls[failed.index + 1 : failed.index + 1 + WINDOW]:
        if fixed.tool_name != failed.tool_name or not _has_worked(fixed):
            continue
        if repair := _compare(task, failed, fixed):
            return repair
    return None


def _has_worked(call: ToolCall) -> bool:
    """A command may succeed in silence; another tool has to answer."""
    if call.failed is None:
        return bool(call.command)
    return not call.failed


def _compare(task: Task, failed: ToolCall, fixed: ToolCall) -> Repair | None:
    if failed.command:
        return _compare_commands(task, failed, fixed)
    changed = argument_changes.compare(failed.arguments, fixed.arguments)
    if not changed:
        between = task.calls[failed.index + 1 : fixed.index]
        return Repair(failed, fixed, None, ()) if between else None
    if len(changed) > MAX_CHANGES:
        return None
    total = len(argument_leaves.leaves(failed.arguments))
    change = _find_change(failed, changed, total)
    return Repair(failed, fixed, change, tuple(changed)) if change else None


def _find_change(
    failed: ToolCall, changed: list[ArgumentChange], total: int
) -> ArgumentChange | None:
    """The change the error speaks of; a lone change beside equal ones otherwise."""
    if len(changed) == 1 and is_respaced(changed[0].before, changed[0].after):
        return changed[0]
    if renamed := _renamed_argument(changed):
        return renamed
    blame = {change: _blame(failed, change) for change in changed}
    most = max(blame.values())
    named = [change for change in changed if blame[change] == most]
    if most and len({change.key for change in named}) == 1:
        return named[0]
    if most or len(changed) != 1 or total < 2:
        return None
    return None if _names_another(failed, changed[0]) else changed[0]


def is_respaced(old: object, new: object) -> bool:
    """Whether two texts differ in nothing but their blanks."""
    if not isinstance(old, str) or not isinstance(new, str) or old == new:
        return False
    return "".join(old.split()) == "".join(new.split())


def _renamed_argument(changed: list[ArgumentChange]) -> ArgumentChange | None:
    if len(changed) != 2:
        return None
    gone = [one for one in changed if one.after is argument_changes.MISSING]
    new = [one for one in changed if one.before is argument_changes.MISSING]
    return new[0] if gone and new and gone[0].before == new[0].after else None


def _blame(failed: ToolCall, change: ArgumentChange) -> int:
    """3 when the error quotes the value, 2 its name, 1 words of it, 0 nothing."""
    error = error_text(failed).lower()
    for value in (change.before, change.after):
        text = str(value).lower()
        plain = isinstance(value, str | int | float) and not isinstance(value, bool)
        if plain and len(text) >= 2 and _stands_in(text, error):
            return 3
    told = error_words(failed)
    if words(change.key) & told or _stands_in(change.key.lower(), error):
        return 2
    return 1 if _value_words(change) & told else 0


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


def _names_another(failed: ToolCall, change: ArgumentChange) -> bool:
    """The error speaks of an argument that stayed: another thing mended it."""
    rest = argument_leaves.leaves(failed.arguments)
    return any(
        _blame(failed, ArgumentChange(path, path.rpartition(".")[2], value, value))
        for path, value in rest.items()
        if path != change.path
    )


def _compare_commands(task: Task, failed: ToolCall, fixed: ToolCall) -> Repair | None:
    old, new = (call.command for call in (failed, fixed))
    if not old or not new or " ".join(old.split()) == " ".join(new.split()) == "":
        return None
    if old != new and "".join(old.split()) == "".join(new.split()):
        return _command_repair(failed, fixed)
    if len(old) > MAX_COMMAND or len(new) > MAX_COMMAND or old.strip() == new.strip():
        return None
    if tool_label(failed) in _SESSION or _has_file_change_between(task, failed, fixed):
        return None
    ratio = difflib.SequenceMatcher(None, old.split(), new.split()).ratio()
    return _command_repair(failed, fixed) if ratio >= SAME_COMMAND else None


# Commands of an editor session: their arguments are the work itself.
_SESSION = frozenset({"edit", "insert", "open", "goto", "submit", "create", "echo"})


def _command_repair(failed: ToolCall, fixed: ToolCall) -> Repair:
    changed = argument_changes.compare(failed.arguments, fixed.arguments)
    return Repair(failed, fixed, changed[0] if changed else None, tuple(changed))


def _has_file_change_between(task: Task, failed: ToolCall, fixed: ToolCall) -> bool:
    """A file changed in between: the mend may lie there, not in the words."""
    return any(
        _changes_files(call) for call in task.calls[failed.index + 1 : fixed.index]
    )


def _changes_files(call: ToolCall) -> bool:
    kind = call.kind
    if kind in ("create", "modify", "delete", "move"):
        return True
    if kind != "run":
        return False
    links = command_files.find_links(call.command)
    return any(link.relation not in ("read", "referenced") for link in links)


def earlier_results(task: Task, before: int) -> Iterator[ToolCall]:
    """Calls whose answers were known at a step, newest first."""
    for call in reversed(task.calls[:before]):
        if not call.failed and call.result:
            yield call
