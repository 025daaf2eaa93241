"""Find what cured the failures of a task: the first later call that shows that it is gone."""

from __future__ import annotations

import difflib
import posixpath
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, islice

from ace.repairs import (
    arguments,
    command_changes,
    commands,
    edits,
    error_line,
    failed_call,
    lint_issues,
    masks,
)
from ace.repairs.command_changes import Change
from ace.repairs.edits import Edit
from ace.repairs.failed_call import FailedCall, FailureKind, FailureSignature
from ace.task.task import Task, ToolCall

# In calls after the failure. Edits take longer than a second try.
LINT_WINDOW, NEAR_WINDOW = 60, 8
MAX_REPAIRS = 50  # of one task
MAX_TEXT = 400  # characters of a command or of code that are kept
MAX_SAID = 240  # characters of a command that is said
MAX_LINES = 6  # of code; longer edits rewrite something of their own
MAX_CURE = 300  # characters of the name of a cure
MIN_STEM = 4  # letters that the names of two files share
# Another command may have found faults in the code: it did its work.
_ACCEPTED = (None, FailureKind.COMPILE, FailureKind.LINT)


@dataclass(frozen=True)
class TaskRepair:
    """A failure of a task, and a call or an edit that was tried against it.

    `cure` names what was done, so that the same cure of another task has the same name.
    `failed` and `worked` are the two commands, paths, texts of code or arguments. `line` is
    the line of the failure that says most about the cure, if it is not the signature's, and
    `folder` the one in which a client says that it ran.
    `first_index` is the call that had to come before the one that worked. `has_worked` is
    False if the failure came back. `is_sure` says that one session is enough to say it.
    """

    failure: FailedCall
    signature: FailureSignature
    cure: str
    failed: str
    worked: str
    fixed_index: int
    line: str = ""
    folder: str = ""
    first_index: int | None = None
    has_worked: bool = True
    is_sayable: bool = True
    is_sure: bool = True


@dataclass(frozen=True)
class _Step:
    """A call of a task with what is read of it, each at most once.

    `failed` is None if the call worked.
    """

    call: ToolCall
    failed: FailedCall | None

    @cached_property
    def checks(self) -> frozenset[tuple[str, ...]]:
        return commands.check_names(self.call.command)

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
        return frozenset(map(masks.mask_error, error_line.clean_lines(self.call.result)))  # fmt: skip

    @property
    def is_refused(self) -> bool:
        return self.failed is not None and self.failed.kind is FailureKind.REFUSED

    @property
    def was_accepted(self) -> bool:
        """Whether a command worked, or failed only in the code that it checks."""
        return (self.failed.kind if self.failed else None) in _ACCEPTED

    def states(self, signature: FailureSignature) -> bool:
        """Return whether the result states the error again, with whatever values."""
        return masks.mask_error(signature.line) in self.lines


def find(task: Task, banners: frozenset[str] = frozenset()) -> list[TaskRepair]:
    """Return the repairs of a task, in the order of its failures."""
    steps = [_Step(call, failed_call.read(call, banners)) for call in task.calls]
    found = (
        _find_of(step.failed, steps)
        for step in steps
        if step.failed and (step.failed.kind in failed_call.CURABLE or _is_run(step))
    )
    return list(islice(chain.from_iterable(found), MAX_REPAIRS))


def _find_of(failure: FailedCall, steps: Sequence[_Step]) -> Iterator[TaskRepair]:
    at = failure.call.index + 1
    if failure.kind is FailureKind.COMPILE:
        line = error_line.find(failure.call.result)
        yield from _find_command_tries(failure, FailureSignature("", line), steps[at:])
    if failure.kind is FailureKind.LINT:
        yield from _find_edits(failure, steps[at - 1], steps[at : at + LINT_WINDOW])
        return
    for signature in failure.signatures:
        if failure.kind is FailureKind.SHELL:
            yield from _find_command_tries(failure, signature, steps[at:])
        elif failure.kind is FailureKind.PATH:
            yield from _find_path(failure, signature, steps[at : at + NEAR_WINDOW])
        else:
            yield from _find_argument_changes(
                failure, signature, steps[at : at + NEAR_WINDOW]
            )


def _is_run(step: _Step) -> bool:
    """Whether a build or a test failed, which may be for how it was run."""
    return step.failed is not None and step.failed.kind is FailureKind.COMPILE


def _find_command_tries(
    failure: FailedCall, signature: FailureSignature, later: Sequence[_Step]
) -> Iterator[TaskRepair]:
    """Yield what was tried in vain, and then the command that worked."""
    error = error_line.read_surroundings(failure.call.result, signature.line)
    if not signature.line or signature.line in failure.call.command:
        return  # the command itself wrote it
    for at, step in enumerate(later[:NEAR_WINDOW]):
        if not step.call.command or step.is_refused:
            continue
        repair = _judge_command(failure, signature, error, later[: at + 1])
        if repair is None:
            continue
        again = any(
            each.call.command == step.call.command and each.states(signature)
            for each in later[at + 1 :]
        )
        yield replace(repair, has_worked=repair.has_worked and not again)
        if repair.has_worked:
            return


def _judge_command(
    failure: FailedCall,
    signature: FailureSignature,
    error: str,
    until: Sequence[_Step],
) -> TaskRepair | None:
    """Return what the last of these calls tried against the error, if it is about it."""
    failed, step = failure.call, until[-1]
    has_worked = step.was_accepted and not step.states(signature)
    if failure.kind is FailureKind.COMPILE:
        has_worked = step.failed is None
    if has_worked and commands.is_same(failed, step.call):
        return _find_preparation(failure, signature, error, until)
    change = command_changes.compare(failed, step.call, error, signature.line)
    if change is None or not (has_worked or step.states(signature)):
        return None
    is_edited = any(each.edits for each in until[:-1])
    if failure.kind is FailureKind.COMPILE and (is_edited or not change.is_around):
        return None  # the code was at fault, or may be
    if is_edited and not change.is_named:
        return None  # the edit may be the cure
    worked = commands.whole(step.call.command)
    folder = "" if [*commands.cd_targets(worked)] else change.folder
    worked = f"cd {folder} && {worked}" if folder else worked
    return TaskRepair(
        failure=failure,
        signature=signature,
        cure=change.name[:MAX_CURE],
        failed=(commands.whole(failed.command) or failed.command)[:MAX_TEXT],
        worked=worked[:MAX_TEXT],
        fixed_index=step.call.index,
        line=_telling_line(failure, signature.line, error, change),
        folder=folder,
        has_worked=has_worked,
        is_sayable=(signature.is_telling or change.is_named)
        and 0 < len(worked) <= MAX_SAID
        and not commands.is_private(" ".join(change.added)),
    )


def _telling_line(failure: FailedCall, line: str, error: str, change: Change) -> str:
    """Return the line that names what was changed, where a test or a variable was at fault."""
    words = (*change.gone, *change.added)
    is_around = failure.kind is FailureKind.COMPILE or change.environment
    lines = [line, *(error.splitlines() if is_around else [])]
    naming = (x for x in lines if any(command_changes.names(x, word) for word in words))
    return next(naming, line)


def _find_preparation(
    failure: FailedCall,
    signature: FailureSignature,
    error: str,
    until: Sequence[_Step],
) -> TaskRepair | None:
    """Return the call that the error asks for, after which the same command worked."""
    for step in until[:-1]:
        first = commands.whole(step.call.command)
        if step.failed or not first or commands.discards(first):
            continue
        if commands.only_prepares(first) or commands.names_command(error, first):
            same = commands.whole(until[-1].call.command)
            worked = f"{first} && {same}"
            return TaskRepair(
                failure=failure,
                signature=signature,
                cure=f"first {masks.mask_error(first)}"[:MAX_CURE],
                failed=same[:MAX_TEXT],
                worked=worked[:MAX_TEXT],
                fixed_index=until[-1].call.index,
                first_index=step.call.index,
                is_sayable=signature.is_telling
                and len(worked) <= MAX_SAID
                and not commands.is_private(first),
            )
    return None


def _find_path(
    failure: FailedCall, signature: FailureSignature, later: Sequence[_Step]
) -> Iterator[TaskRepair]:
    """Yield the file of a like name that the same tool then found, or else the next one."""
    wanted = _relative(failure.call)
    found = [
        (_relative(step.call), step.call.index)
        for step in later
        if step.call.tool_name == failure.call.tool_name
        and not step.failed
        and failed_call.path_of(step.call)
    ]
    alike = next((each for each in found if _is_alike(wanted, each[0])), None)
    for path, index in [alike] if alike else found[:1]:
        yield TaskRepair(
            failure=failure,
            signature=signature,
            cure=path[:MAX_CURE],
            failed=wanted[:MAX_TEXT],
            worked=path[:MAX_TEXT],
            fixed_index=index,
            is_sayable=not f"{wanted}/".startswith(f"{path}/")  # it looks elsewhere
            and not path.startswith(("/", "~", "..")),
            is_sure=alike is not None,
        )


def _relative(call: ToolCall) -> str:
    path, cwd = failed_call.path_of(call), call.cwd.rstrip("/")
    return path.removeprefix(f"{cwd}/") if cwd else path


def _is_alike(wanted: str, found: str) -> bool:
    """Return whether two paths name the same file in another folder, form or spelling."""
    (folder, name), (other, like) = posixpath.split(wanted), posixpath.split(found)
    stem, stem_like = (each.lstrip(".").partition(".")[0] for each in (name, like))
    if name == like or (stem == stem_like and folder == other):
        return True
    common = posixpath.commonprefix([stem, stem_like])
    is_long = len(common) >= max(MIN_STEM, len(max(stem, stem_like, key=len)) / 2)
    has_same_form = posixpath.splitext(name)[1] == posixpath.splitext(like)[1]
    return folder == other and has_same_form and is_long


def _find_argument_changes(
    failure: FailedCall, signature: FailureSignature, later: Sequence[_Step]
) -> Iterator[TaskRepair]:
    """Yield the next call of the same tool that worked, if the error speaks of its change."""
    for step in later:
        if step.call.tool_name != failure.call.tool_name or step.is_refused:
            continue
        found = arguments.compare(failure.call, step.call)
        came_back = step.failed and signature in step.failed.signatures
        if found and (step.failed is None or came_back):
            yield TaskRepair(
                failure=failure,
                signature=signature,
                cure=f"-{found.failed} +{found.worked}"[:MAX_CURE],
                failed=found.failed[:MAX_TEXT],
                worked=found.worked[:MAX_TEXT],
                fixed_index=step.call.index,
                has_worked=step.failed is None,
                is_sayable=signature.is_telling,
            )
        if step.failed is None:
            return


def _find_edits(
    failure: FailedCall, first: _Step, later: Sequence[_Step]
) -> Iterator[TaskRepair]:
    """Yield the edits of the code that the linter named, before the same check is clean."""
    ends = _find_ends(failure, first, later)
    for signature in failure.signatures:
        if signature.name in ends:
            yield from _find_edits_of(
                failure, signature, later[: ends[signature.name] + 1]
            )


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


def _find_edits_of(
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
