"""Find what repaired a failure: the first later call that shows that it is gone."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from bench.judge.error_line import BannerLines
from bench.judge.failure_class import FailureClass, classify
from bench.judge.lint_issues import LintIssue, read_issues
from bench.judge.lint_repairs import describe_edit
from bench.judge.session_calls import SessionCall
from bench.judge.shell_command import (
    ShellSegment,
    share_of_words,
    speaking_segments,
    split_segments,
)
from bench.judge.signatures import sign

LINT_WINDOW, NEAR_WINDOW = 60, 8  # calls after the failure
MIN_WORDS = 0.15  # of the failing and the curing command that are the same
MIN_ARGUMENTS = 0.5  # of the arguments that another program must take over

_NAME = re.compile(r"[a-z][\w:-]*")  # no flag, no path


@dataclass(frozen=True)
class SessionRepair:
    """What then worked: `kind` is compared with other repairs, `text` is what it did.

    The last of the calls is the one that shows it. `source` is the line of code that a linter
    named.
    """

    kind: str
    text: str
    call_ids: tuple[str, ...]
    source: str = ""


def find_repair(
    call: SessionCall,
    kind: FailureClass,
    signature: str,
    later: Sequence[SessionCall],
    banners: BannerLines,
) -> SessionRepair | None:
    """Return the repair of one signature of a failed call, if one of the later calls is it."""
    if kind is FailureClass.LINT:
        return _repair_lint(call, signature, later[:LINT_WINDOW])
    if kind is FailureClass.SHELL:
        return _repair_shell(call, signature, later[:NEAR_WINDOW], banners)
    if kind is FailureClass.PATH:
        return _repair_path(call, later[:NEAR_WINDOW])
    if kind is FailureClass.COMPILE:
        return _repair_code(call, signature, later[:LINT_WINDOW], banners)
    return _repair_call(call, later[:NEAR_WINDOW])


def _repair_lint(
    call: SessionCall, signature: str, later: Sequence[SessionCall]
) -> SessionRepair | None:
    issue = next(i for i in read_issues(call.result) if i.signature == signature)
    end = next((n for n, c in enumerate(later) if _is_clean(call, c, signature)), None)
    if end is None:
        return None
    edits = [edit for edit in later[:end] if is_same_file(edit.path, issue.file)]
    return _describe_edits(issue, edits, later[end])


def _is_clean(call: SessionCall, later: SessionCall, signature: str) -> bool:
    """Whether a later run of the same command no longer shows the issue."""
    return is_same_command(call, later) and all(
        issue.signature != signature for issue in read_issues(later.result)
    )


def _describe_edits(
    issue: LintIssue, edits: Sequence[SessionCall], cured: SessionCall
) -> SessionRepair | None:
    """Describe the edit of the source line; where no line is known, all edits of the file."""
    pairs = [(edit, hunk) for edit in edits for hunk in edit.hunks]
    source = issue.source
    found = [(e, h) for e, h in pairs if source and source in h.old] or [
        (e, h) for e, h in pairs if not source
    ]
    if not found:
        return None
    ids = (*dict.fromkeys(edit.id for edit, _ in found), cured.id)
    kinds = [describe_edit(hunk) for _, hunk in found]
    # A suppression stands beside the line; any other kind is that of the last edit.
    kind = "suppression" if "suppression" in kinds else kinds[-1]
    return SessionRepair(kind, found[-1][1].new, ids, source)


def _repair_shell(
    call: SessionCall,
    signature: str,
    later: Sequence[SessionCall],
    banners: BannerLines,
) -> SessionRepair | None:
    """Return the most similar command that worked, and what it changed."""
    cures = [
        each
        for each in later
        if each.command
        and is_same_program(call, each)
        and not _is_rejected_or_shows(each, signature, banners)
    ]
    if not cures:
        return None
    words = _words(call.command)
    best = max(cures, key=lambda each: share_of_words(words, _words(each.command)))
    if share_of_words(words, _words(best.command)) < MIN_WORDS:
        return None
    return SessionRepair(
        describe_change(call.command, best.command), best.command, (best.id,)
    )


def _is_rejected_or_shows(
    call: SessionCall, signature: str, banners: BannerLines
) -> bool:
    """Whether a call failed; it may fail otherwise only in the code that it checks."""
    kind = classify(call)
    if kind is None:
        return call.is_error  # rejected
    return kind is not FailureClass.COMPILE or signature in sign(call, kind, banners)


def describe_change(failed: str, cured: str) -> str:
    """Return the masked words that the cure took away and added; "" if it is the same."""
    before, after = _change_words(failed), _change_words(cured)
    removed = [f"-{word}" for word in before if word not in after]
    added = [f"+{word}" for word in after if word not in before]
    return " ".join(dict.fromkeys([*removed, *added]))


def _repair_path(
    call: SessionCall, later: Sequence[SessionCall]
) -> SessionRepair | None:
    """Return the next file that the same tool found, relative to the root."""
    for each in later:
        if each.tool == call.tool and each.path and _has_worked(each):
            root = f"{call.cwd.rstrip('/')}/"
            path = each.path.removeprefix(root)
            return SessionRepair(path, path, (each.id,))
    return None


def _repair_code(
    call: SessionCall,
    signature: str,
    later: Sequence[SessionCall],
    banners: BannerLines,
) -> SessionRepair | None:
    """Return the edits until the same command no longer shows the signature."""
    for end, each in enumerate(later):
        if not is_same_command(call, each):
            continue
        kind = classify(each)
        if kind is None or signature not in sign(each, kind, banners):
            between = later[:end]
            tools = sorted({c.tool for c in between if c.hunks})
            ids = (*(c.id for c in between if c.hunks), each.id)
            return SessionRepair(" ".join(tools), "", ids)
    return None


def _repair_call(
    call: SessionCall, later: Sequence[SessionCall]
) -> SessionRepair | None:
    """Return the calls until the same tool worked again."""
    for end, each in enumerate(later):
        if each.tool == call.tool and _has_worked(each):
            steps = [*(c.tool for c in later[:end]), each.tool]
            names = " ".join(sorted(call.arguments.keys() ^ each.arguments.keys()))
            ids = tuple(c.id for c in later[: end + 1])
            return SessionRepair(f"{' '.join(steps)} {names}".strip(), "", ids)
    return None


def _has_worked(call: SessionCall) -> bool:
    return not call.is_error and classify(call) is None


def is_same_command(first: SessionCall, second: SessionCall) -> bool:
    """Whether two commands share a program and what it does, as in `make lint`."""
    return bool(_names(first.command) & _names(second.command))


def _names(command: str) -> set[tuple[str, ...]]:
    """Return each program with the names of at most two subcommands after it."""
    found: set[tuple[str, ...]] = set()
    for segment in speaking_segments(command):
        names = filter(_NAME.fullmatch, segment.arguments)
        found.add((segment.program, *islice(names, 2)))
    return found


def is_same_program(first: SessionCall, second: SessionCall) -> bool:
    """Whether the second command runs a program of the first, or takes over its arguments."""
    mine = _programs(first.command)
    for segment in _programs(second.command):
        for each in mine:
            if segment.program == each.program:
                return True
            if each.arguments and _share(each, segment) >= MIN_ARGUMENTS:
                return True
    return False


def _programs(command: str) -> list[ShellSegment]:
    return [s for s in speaking_segments(command) if not s.is_probe]


def _share(first: ShellSegment, second: ShellSegment) -> float:
    wanted = set(first.arguments)
    return len(wanted & set(second.arguments)) / len(wanted)


def _words(command: str) -> list[str]:
    return re.findall(r"[\w./-]+", command)


def _change_words(command: str) -> list[str]:
    return [
        word
        for segment in split_segments(command)
        if not (segment.is_piped and segment.is_reader)
        for word in segment.mask_words()
    ]


def is_same_file(path: str, named: str) -> bool:
    """Whether an absolute path, or another path, ends in the file that a report names."""
    short = named.removeprefix("./")
    return bool(path) and (path == short or path.endswith(f"/{short.lstrip('/')}"))
