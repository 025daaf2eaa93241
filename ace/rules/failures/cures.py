"""Find what cured the failures of a task: the first later call that shows that it is gone."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ace.rules.failures import (
    edits,
    error_line,
    failed_call,
    lint_issues,
    masks,
    shell_words,
)
from ace.rules.failures.edits import Edit
from ace.rules.failures.failed_call import FailedCall, FailureKind, FailureSignature
from ace.rules.task import Task, ToolCall, canonical_json

# In calls after the failure. Edits take longer than a second try.
LINT_WINDOW, NEAR_WINDOW = 60, 8
# Of the words of the failing and the curing command, so many are the same.
MIN_WORDS = 0.15
MAX_REPAIRS = 50  # of one task
MAX_TEXT = 400  # characters of a command or of code that are kept
MAX_LINES = 6  # of code; longer edits rewrite something of their own
MAX_CURE = 300  # characters of the name of a cure


@dataclass(frozen=True)
class TaskRepair:
    """A failure of a task, and a call or an edit that was tried against it.

    `cure` names what was done, so that the same cure of another task has the same name; it
    is empty if the same call was only repeated. `failed` and `worked` are the two commands,
    paths, texts of code or arguments. `has_worked` is False if the failure came back.
    """

    failure: FailedCall
    signature: FailureSignature
    cure: str
    failed: str
    worked: str
    fixed_index: int
    removed: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    has_worked: bool = True
    is_sayable: bool = True


def find(task: Task, banners: frozenset[str] = frozenset()) -> list[TaskRepair]:
    """Return the repairs of a task, in the order of its failures."""
    failures = [failed_call.read(call, banners) for call in task.calls]
    found: list[TaskRepair] = []
    for failure in filter(None, failures):
        if failure.kind in failed_call.CURABLE:
            found += _find_of(failure, task.calls, failures)
    return found[:MAX_REPAIRS]


def _find_of(
    failure: FailedCall,
    calls: Sequence[ToolCall],
    failures: Sequence[FailedCall | None],
) -> Iterator[TaskRepair]:
    at = failure.call.index + 1
    if failure.kind is FailureKind.LINT:
        for signature in failure.signatures:
            yield from _by_edit(failure, signature, calls[at : at + LINT_WINDOW])
        return
    window = range(at, min(at + NEAR_WINDOW, len(calls)))
    later = [(calls[index], failures[index]) for index in window]
    for signature in failure.signatures:
        if failure.kind is FailureKind.SHELL:
            yield from _by_command(failure, signature, later)
        elif failure.kind is FailureKind.PATH:
            yield from _by_path(failure, signature, later)
        else:
            yield from _by_arguments(failure, signature, later)


def _by_edit(
    failure: FailedCall, signature: FailureSignature, later: Sequence[ToolCall]
) -> Iterator[TaskRepair]:
    """Yield the edit of the code that the linter named, before the same check is clean."""
    end = next((n for n, each in enumerate(later) if _is_clean(failure, each, signature)), None)  # fmt: skip
    issue = signature.issue
    if end is None or issue is None:
        return
    found = [
        edit
        for call in later[:end]
        for edit in edits.read(call)
        if edit.is_in(issue.file) and issue.source in edit.old
    ]
    if not found:
        return
    # A suppression stands beside the line. Of other edits, the last one counts.
    chosen = next((e for e in found if e.kind == "suppression"), found[-1])
    before, after = _changed_lines(chosen, issue.source)
    yield TaskRepair(
        failure=failure,
        signature=signature,
        cure=Edit(chosen.path, before, after).kind,
        failed=before[:MAX_TEXT],
        worked=after[:MAX_TEXT],
        fixed_index=later[end].index,
        is_sayable=bool(issue.source and after.strip())
        and after.count("\n") < MAX_LINES,
    )


def _is_clean(
    failure: FailedCall, later: ToolCall, signature: FailureSignature
) -> bool:
    if not later.command:
        return False
    if not shell_words.is_same_check(failure.call.command, later.command):
        return False
    issues = lint_issues.read(error_line.edges(later.result))
    name = signature.name.removeprefix("lint ")
    return all(issue.name != name for issue in issues)


def _changed_lines(edit: Edit, source: str) -> tuple[str, str]:
    """Return the lines of an edit that changed at a line of code, before and after.

    Of a comment that was put above the line, both are shown.
    """
    old = [line.strip() for line in edit.old.splitlines()]
    new = [line.strip() for line in edit.new.splitlines()]
    at = next((n for n, line in enumerate(old) if source in line), 0)
    blocks = difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    changed = [block for block in blocks if block[0] != "equal"]
    if not changed:
        return source, source
    _, start, end, new_start, new_end = min(
        changed, key=lambda block: max(block[1] - at, at - block[2], 0)
    )
    if start == end and end == at:  # lines were put above it
        end, new_end = end + 1, new_end + 1
    return "\n".join(old[start:end]), "\n".join(new[new_start:new_end])


Later = Sequence[tuple[ToolCall, FailedCall | None]]


def _by_command(
    failure: FailedCall, signature: FailureSignature, later: Later
) -> Iterator[TaskRepair]:
    """Yield the command most like the failing one that worked, and the tries before it."""
    command = failure.call.command
    tries = [
        (call, failed)
        for call, failed in later
        if call.command and shell_words.is_same_program(command, call.command)
    ]
    cures = [call for call, failed in tries if _has_cured(call, failed, signature)]
    best = max(
        cures, key=lambda call: masks.common_share(command, call.command), default=None
    )
    if best and masks.common_share(command, best.command) >= MIN_WORDS:
        yield _command_repair(failure, signature, best)
    for call, failed in tries:
        if failed and signature in failed.signatures:
            repair = _command_repair(failure, signature, call, has_worked=False)
            if repair.cure:
                yield repair


def _has_cured(
    call: ToolCall, failed: FailedCall | None, signature: FailureSignature
) -> bool:
    """Return whether a command worked, or failed only in the code that it checks."""
    if failed is None:
        return not call.has_failed
    return failed.kind is FailureKind.COMPILE


def _command_repair(
    failure: FailedCall,
    signature: FailureSignature,
    call: ToolCall,
    *,
    has_worked: bool = True,
) -> TaskRepair:
    change = shell_words.compare(failure.call.command, call.command)
    is_named = any(word in signature.line for word in change.removed if len(word) > 2)
    return TaskRepair(
        failure=failure,
        signature=signature,
        cure=change.name[:MAX_CURE],
        failed=failure.call.command[:MAX_TEXT],
        worked=call.command[:MAX_TEXT],
        fixed_index=call.index,
        removed=change.removed,
        added=change.added,
        has_worked=has_worked,
        is_sayable=signature.is_telling
        and bool(change.name)
        and (is_named or not change.is_swap)
        and not change.has_absolute_path,
    )


def _by_path(
    failure: FailedCall, signature: FailureSignature, later: Later
) -> Iterator[TaskRepair]:
    """Yield the next file that the same tool found, relative to the folder of the call."""
    wanted = _relative(failed_call.path_of(failure.call), failure.call.cwd)
    for call, failed in later:
        path = failed_call.path_of(call)
        if call.tool_name != failure.call.tool_name or not path or failed:
            continue
        found = _relative(path, call.cwd)
        is_same_name = found.rpartition("/")[2] == wanted.rpartition("/")[2]
        yield TaskRepair(
            failure=failure,
            signature=signature,
            cure=found[:MAX_CURE],
            failed=wanted[:MAX_TEXT],
            worked=found[:MAX_TEXT],
            fixed_index=call.index,
            removed=(wanted,),
            added=(found,),
            is_sayable=is_same_name and not found.startswith(("/", "~")),
        )
        return


def _relative(path: str, cwd: str) -> str:
    return path.removeprefix(f"{cwd.rstrip('/')}/") if cwd else path


def _by_arguments(
    failure: FailedCall, signature: FailureSignature, later: Later
) -> Iterator[TaskRepair]:
    """Yield the next call of the same tool that worked, named by its changed arguments."""
    for call, failed in later:
        if call.tool_name != failure.call.tool_name:
            continue
        before, after = failure.call.arguments, call.arguments
        removed = tuple(sorted(before.keys() - after.keys()))
        added = tuple(sorted(after.keys() - before.keys()))
        cure = " ".join([*(f"-{name}" for name in removed), *(f"+{name}" for name in added)])  # fmt: skip
        came_back = failed is not None and signature in failed.signatures
        if failed is None or (came_back and cure):
            yield TaskRepair(
                failure=failure,
                signature=signature,
                cure=cure[:MAX_CURE],
                failed=canonical_json(before)[:MAX_TEXT],
                worked=canonical_json(after)[:MAX_TEXT],
                fixed_index=call.index,
                removed=removed,
                added=added,
                has_worked=failed is None,
                is_sayable=signature.is_telling and bool(cure),
            )
        if failed is None:
            return
