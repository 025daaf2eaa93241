"""Find lines of the repository's own instructions that the sessions refute."""

from __future__ import annotations

import posixpath
import uuid
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from ace.models import TaskCommand
from ace.rules import instruction_lines
from ace.rules.instruction_lines import InstructionLine
from ace.rules.path_lookups import LookupOutcome
from context.card.card_line import CardLine, count, quote
from context.card.card_rows import CardRows, CommandRow, LookupRow
from context.files.file_use import FileUse

# The newest sessions that used what a line names, all of them in vain.
MIN_SESSIONS = 3
MIN_SHARE = 0.5  # of the files of those sessions, in the folder that is right
Outcome = TaskCommand.CommandOutcome


@dataclass(frozen=True)
class WrongLine:
    """A line, what it names wrongly, and what is right, or "" if that is not known.

    `runs` are the runs that show it, the newest first. `sources` are all runs whose text
    it quotes: also those that showed the line, and those in which what is right worked.
    """

    line: InstructionLine
    named: str
    right: str
    sessions: int
    runs: tuple[uuid.UUID, ...]
    trouble: Literal["was not there", "failed"] = "was not there"
    sources: tuple[uuid.UUID, ...] = ()

    @property
    def replacement(self) -> str:
        """Return the line with what is right, or "" if that is not known."""
        right = self.line.text.replace(self.named, self.right) if self.right else ""
        return right if right != self.line.text else ""


def find(rows: CardRows) -> list[WrongLine]:
    """Return the refuted lines, those of most sessions first; each name once."""
    found: dict[str, WrongLine] = {}
    index = _Lookups(rows.lookups)
    by_pattern: defaultdict[str, list[CommandRow]] = defaultdict(list)
    for row in rows.commands:
        by_pattern[row.pattern].append(row)
    for line in rows.lines:
        for path in instruction_lines.named_paths(line.text):
            if path not in found and (
                wrong := _refute_path(line, path, index, rows.uses)
            ):
                found[path] = wrong
        for check in rows.checks.get(line, ()):
            uses = by_pattern.get(check.pattern, [])
            if check.text not in found and (wrong := _refute_command(line, check.text, uses, rows.commands)):  # fmt: skip
                found[check.text] = wrong
    return sorted(found.values(), key=lambda each: (-each.sessions, each.named))


def write(wrong: Iterable[WrongLine]) -> list[CardLine]:
    lines = []
    for each in wrong:
        right = f"; it is {quote(each.right)}" if each.right else ""
        says = f"{quote(each.line.path)} says {quote(each.named)}"
        text = f"- {says}, which {each.trouble}{right} {count(each.sessions, None)}"
        lines.append(CardLine("wrong", text, each.named, each.sessions))
    return lines


class _Lookups:
    """The lookups by each end of their paths, the newest first."""

    def __init__(self, rows: Iterable[LookupRow]) -> None:
        self._by_end: defaultdict[str, list[tuple[LookupRow, bool]]] = defaultdict(list)
        for row in rows:
            for end, is_itself in _ends(row.path):
                self._by_end[end].append((row, is_itself))

    def of(self, path: str) -> list[tuple[LookupRow, bool]]:
        """Return the lookups of a path and of what is below it, and whether it is itself."""
        return self._by_end.get(path, [])


def _ends(path: str) -> Iterator[tuple[str, bool]]:
    """Yield the ends of a path and of its folders that have two parts or more."""
    parts = path.split("/")[:12]
    for last in range(len(parts), 1, -1):
        for first in range(last - 1):
            yield "/".join(parts[first:last]), last == len(parts)


def _refute_path(
    line: InstructionLine, path: str, index: _Lookups, uses: Sequence[FileUse]
) -> WrongLine | None:
    lookups = index.of(path)
    by_session: dict[str, set[str]] = {}
    for row, is_itself in lookups:
        outcome = LookupOutcome.EMPTY if row.outcome == LookupOutcome.MISSING and not is_itself else row.outcome  # fmt: skip
        by_session.setdefault(row.session, set()).add(outcome)
    newest = list(by_session.values())[:MIN_SESSIONS]
    is_vain = len(newest) == MIN_SESSIONS and not any(
        LookupOutcome.FOUND in o for o in newest
    )
    if not is_vain or not any(LookupOutcome.MISSING in outcomes for outcomes in newest):
        return None
    vain = [row for row, _ in lookups if row.outcome != LookupOutcome.FOUND]
    sessions = {row.session for row in vain}
    runs = tuple(dict.fromkeys(row.run_id for row in vain))
    right = _right_path(path, [row.path for row, _ in lookups], uses)
    sources = (*line.runs, *(row.run_id for row, _ in lookups))
    return WrongLine(line, path, right, len(sessions), runs, sources=sources)


def _right_path(named: str, looked: Sequence[str], uses: Sequence[FileUse]) -> str:
    """Return where the same name is, or the nearest folder above that has files.

    The path is written as the line wrote it: without the folders that the line left out.
    """
    name = posixpath.basename(named)
    present = [use for use in uses if not use.is_gone]
    same = Counter(
        path
        for use in present
        for path in _paths_named(name, use.path)
        if f"/{named}" not in f"/{path}"
    )
    if len(same) == 1:
        return next(iter(same))
    whole = Counter(path for path in looked if f"/{path}/".find(f"/{named}/") >= 0)
    full = whole.most_common(1)[0][0] if whole else named
    above = posixpath.dirname(full[: f"{full}/".find(f"{named}/") + len(named)])
    while above:
        if any(posixpath.dirname(use.path) == above for use in present):
            return above
        above = posixpath.dirname(above)
    return ""


def _paths_named(name: str, path: str) -> Iterator[str]:
    parts = path.split("/")
    for at, part in enumerate(parts):
        if part == name:
            yield "/".join(parts[: at + 1])


def _refute_command(
    line: InstructionLine,
    text: str,
    uses: Sequence[CommandRow],
    commands: Sequence[CommandRow],
) -> WrongLine | None:
    by_session: dict[str, set[str]] = {}
    for row in uses:
        by_session.setdefault(row.session, set()).add(row.outcome)
    newest = list(by_session.values())[:MIN_SESSIONS]
    if len(newest) < MIN_SESSIONS or any(o != {Outcome.FAILED} for o in newest):
        return None
    failed = [row for row in uses if row.outcome == Outcome.FAILED]
    program = text.split(" ", 1)[0]
    worked: Mapping[str, int] = Counter(
        row.text
        for row in commands
        if row.outcome == Outcome.WORKED
        and row.kind == failed[0].kind
        and row.text.split(" ", 1)[0] == program
    )
    right = max(worked, key=lambda each: (worked[each], each), default="")
    sessions = {row.session for row in failed}
    runs = tuple(dict.fromkeys(row.run_id for row in failed))
    cured = [row.run_id for row in commands if row.text == right]
    sources = (*line.runs, *runs, *cured)
    return WrongLine(line, text, right, len(sessions), runs, "failed", sources)
