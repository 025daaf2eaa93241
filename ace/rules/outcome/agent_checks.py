"""Find the checks that an agent ran on its own work, and choose the checks that still count."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ace.rules.task import Task, ToolCall
from ace.rules.tool_calls import argument_leaves, command_purpose, tool_kinds
from ace.rules.tool_calls.runner_reports import Counts


@dataclass(frozen=True)
class CheckReport:
    call: ToolCall
    counts: Counts
    targets: frozenset[str]

    def covers(self, earlier: CheckReport) -> bool:
        """Return whether this run replaces an earlier run: it ran the same tests or all tests."""
        return not self.targets or earlier.targets <= self.targets


def last_reports(task: Task) -> list[CheckReport]:
    """Return the test reports that no later report covers, oldest first."""
    reports: list[CheckReport] = []
    for report in _reports(task):
        reports = [old for old in reports if not report.covers(old)]
        reports.append(report)
    return reports


def last_verdicts(task: Task) -> list[ToolCall]:
    """Return the last call of every check, without calls that have no verdict.

    A test, lint or build command is always a check. Any other command is a check only if
    the same command failed before. Success alone does not show that the work is right.
    """
    last: dict[str, ToolCall] = {}
    failed_before: set[str] = set()
    for call in _run_calls(task):
        key = _key(call)
        is_check = tool_kinds.is_check(call.tool_name, call.arguments)
        if is_check or key in failed_before:
            last.pop(key, None)  # so that the verdicts are in the order of their calls
            last[key] = call
        if call.has_failed:
            failed_before.add(key)
    return [call for call in last.values() if call.has_failed is not None]


def final_failure(task: Task) -> ToolCall | None:
    """Return the last call that is not mere thinking, if that call failed."""
    acting = [call for call in task.calls if call.kind != "think"]
    return acting[-1] if acting and acting[-1].has_failed else None


def unchecked_change(task: Task) -> ToolCall | None:
    """Return the last change of a file, if no command was run after that change."""
    changed: ToolCall | None = None
    for call in task.calls:
        kind = call.kind
        if kind in ("create", "modify") and not call.has_failed and _names_file(call):
            changed = call
        elif kind == "run":
            changed = None
    return changed


_FILE_KEYS = ("path", "file_path", "file", "target_file", "notebook_path", "patch")


def _names_file(call: ToolCall) -> bool:
    return bool(call.command) or any(key in call.arguments for key in _FILE_KEYS)


def _reports(task: Task) -> Iterator[CheckReport]:
    for call in _run_calls(task):
        found = call.test_counts
        if found:
            yield CheckReport(call, found, command_purpose.targets(_command_text(call)))


def _run_calls(task: Task) -> list[ToolCall]:
    return [call for call in task.calls if call.kind == "run"]


def _key(call: ToolCall) -> str:
    return f"{call.tool_name} {' '.join(_command_text(call).split())}"


def _command_text(call: ToolCall) -> str:
    """Return the command of a shell, or the argument values of another tool."""
    values = argument_leaves.leaves(call.arguments).values()
    return call.command or " ".join(str(value) for value in values)
