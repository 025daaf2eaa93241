"""Find what cured the failures of a task: the first later call that shows that it is gone."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, islice

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


@dataclass(frozen=True)
class _Step:
    """A call of a task with what is read of it, each at most once.

    `failed` is None if the call worked.
    """

    call: ToolCall
    failed: FailedCall | None

    @cached_property
    def checks(self) -> frozenset[tuple[str, ...]]:
        return shell_words.check_names(self.call.command)

    @cached_property
    def edits(self) -> tuple[Edit, ...]:
        return tuple(edits.read(self.call))

    @cached_property
    def issues(self) -> frozenset[str]:
        """Return the names of the issues that a linter reports in the result."""
        found = lint_issues.read(error_line.edges(self.call.result))
        return frozenset(issue.name for issue in found)

    @cached_property
    def lines(self) -> frozenset[str]:
        """Return the masked lines of the result."""
        return frozenset(
            map(masks.mask_error, error_line.clean_lines(self.call.result))
        )

    @property
    def is_refused(self) -> bool:
        return self.failed is not None and self.failed.kind is FailureKind.REFUSED

    def states(self, signature: FailureSignature) -> bool:
        """Return whether the result states the error again, with whatever values."""
        if self.failed and signature in self.failed.signatures:
            return True
        return masks.mask_error(signature.line) in self.lines


def find(task: Task, banners: frozenset[str] = frozenset()) -> list[TaskRepair]:
    """Return the repairs of a task, in the order of its failures."""
    steps = [_Step(call, failed_call.read(call, banners)) for call in task.calls]
    found = (
        _find_of(step.failed, steps)
        for step in steps
        if step.failed and step.failed.kind in failed_call.CURABLE
    )
    return list(islice(chain.from_iterable(found), MAX_REPAIRS))


def _find_of(failure: FailedCall, steps: Sequence[_Step]) -> Iterator[TaskRepair]:
    at = failure.call.index + 1
    if failure.kind is FailureKind.LINT:
        yield from _by_edits(failure, steps[at - 1], steps[at : at + LINT_WINDOW])
        return
    later = steps[at : at + NEAR_WINDOW]
    for signature in failure.signatures:
        if failure.kind is FailureKind.SHELL:
            yield from _by_command(failure, signature, later)
        elif failure.kind is FailureKind.PATH:
            yield from _by_path(failure, signature, later)
        else:
            yield from _by_arguments(failure, signature, later)


def _by_edits(
    failure: FailedCall, first: _Step, later: Sequence[_Step]
) -> Iterator[TaskRepair]:
    """Yield the edits of the code that the linter named, before the same check is clean."""
    ends = _find_ends(failure, first, later)
    for signature in failure.signatures:
        if signature.name in ends:
            yield from _by_edit(failure, signature, later[: ends[signature.name] + 1])


def _find_ends(
    failure: FailedCall, first: _Step, later: Sequence[_Step]
) -> dict[str, int]:
    """Return at which step the same check no longer reports an issue, by signature."""
    names = {each.name: each.name.removeprefix("lint ") for each in failure.signatures}
    ends: dict[str, int] = {}
    for at, step in enumerate(later):
        if step.is_refused or first.checks.isdisjoint(step.checks):
            continue
        gone = [each for each, name in names.items() if name not in step.issues]
        for each in gone:
            ends[each] = at
            del names[each]
        if not names:
            break
    return ends


def _by_edit(
    failure: FailedCall, signature: FailureSignature, until_clean: Sequence[_Step]
) -> Iterator[TaskRepair]:
    """Yield the edit of the code that the linter named, before the clean check."""
    issue = signature.issue
    if issue is None:
        return
    found = [
        edit
        for step in until_clean
        for edit in step.edits
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
        fixed_index=until_clean[-1].call.index,
        is_sayable=bool(issue.source and after.strip())
        and after.count("\n") < MAX_LINES,
    )


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


def _by_command(
    failure: FailedCall, signature: FailureSignature, later: Sequence[_Step]
) -> Iterator[TaskRepair]:
    """Yield the command most like the failing one that worked, and the tries before it."""
    command = failure.call.command
    tries = [
        step
        for step in later
        if step.call.command and shell_words.is_same_program(command, step.call.command)
    ]
    cures = [step.call for step in tries if _has_cured(step, signature)]
    best = max(
        cures, key=lambda call: masks.common_share(command, call.command), default=None
    )
    if best and masks.common_share(command, best.command) >= MIN_WORDS:
        yield _command_repair(failure, signature, best)
    for step in tries:
        if step.failed and step.states(signature):
            repair = _command_repair(failure, signature, step.call, has_worked=False)
            if repair.cure:
                yield repair


def _has_cured(step: _Step, signature: FailureSignature) -> bool:
    """Return whether a command worked, or failed only in the code that it checks.

    The error must be gone.
    """
    is_accepted = step.failed is None or step.failed.kind is FailureKind.COMPILE
    return is_accepted and not step.states(signature)


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
    failure: FailedCall, signature: FailureSignature, later: Sequence[_Step]
) -> Iterator[TaskRepair]:
    """Yield the next file that the same tool found, relative to the folder of the call."""
    wanted = _relative(failed_call.path_of(failure.call), failure.call.cwd)
    for step in later:
        call, path = step.call, failed_call.path_of(step.call)
        if call.tool_name != failure.call.tool_name or not path or step.failed:
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
    failure: FailedCall, signature: FailureSignature, later: Sequence[_Step]
) -> Iterator[TaskRepair]:
    """Yield the next call of the same tool that worked, named by its changed arguments."""
    for step in later:
        call, failed = step.call, step.failed
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
