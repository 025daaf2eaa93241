"""Read what the repository's own instructions say: CLAUDE.md, AGENTS.md, README and the like."""

from __future__ import annotations

import posixpath
import re
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ace.rules.failures import edits, failed_call
from ace.rules.files import checkout
from ace.rules.task import Task, ToolCall
from ace.rules.tool_calls import check_commands, programs, shell_commands
from ace.rules.tool_calls.check_commands import CheckCommand

MAX_LINES = 600  # of one file in one task
MAX_LINE = 300  # characters; a longer line is prose
MIN_DENSITY = 0.9  # of the lines between the first and the last; less is a search
_NAMES = re.compile(
    r"(?:claude|agents?|gemini|copilot-instructions|contributing|readme)(?:\.local)?"
    r"(?:\.(?:md|mdx|rst|txt|adoc))?|\.(?:cursor|windsurf|cline)rules",
    re.IGNORECASE,
)
_NUMBERED = re.compile(r"[ \t]{0,8}(\d{1,6})(?:→|\t|[:|-] ?)(.*)")
_QUOTED = re.compile(r"`([^`\n]{2,200})`")
_PROMPT = re.compile(r"[ \t]{0,8}(?:\$|>|%) ")
# A path with a folder, as it stands in backticks: no pattern, no placeholder, no address.
_PATH = re.compile(r"(?:\./)?((?:[\w.@-]{1,80}/){1,12}[\w.@-]{0,80})")
_ADDRESS = re.compile(r"^(?:[\w-]{1,40}\.)?[\w-]{1,40}\.(?:com|org|net|io|dev|ai|co)/")


@dataclass(frozen=True)
class InstructionLine:
    """A line of a file; the number is 0 if only an edit showed it.

    `runs` are the runs that read or wrote the line, the oldest first.
    """

    path: str
    number: int
    text: str
    runs: tuple[uuid.UUID, ...] = ()


@dataclass
class ReadInstructions:
    """The lines of one file that a task read, by number, and those that it removed or added.

    A line without a number was added by the task itself.
    """

    lines: dict[int, str] = field(default_factory=dict)
    removed: list[str] = field(default_factory=list)
    added: list[str] = field(default_factory=list)

    @property
    def is_empty(self) -> bool:
        return not (self.lines or self.removed or self.added)

    def to_json(self) -> dict[str, Any]:
        numbered = [[number, text] for number, text in self.lines.items() if text]
        return {"lines": numbered, "removed": self.removed, "added": self.added}

    @classmethod
    def from_json(cls, seen: Mapping[str, Any]) -> ReadInstructions:
        """Return what `to_json` wrote; a purged row has nothing."""
        lines = {int(number): str(text) for number, text in seen.get("lines") or ()}
        removed, added = (list(seen.get(name) or ()) for name in ("removed", "added"))
        return cls(lines, removed, added)


def is_instructions(path: str) -> bool:
    return bool(_NAMES.fullmatch(posixpath.basename(path)))


def of_task(task: Task) -> dict[str, ReadInstructions]:
    """Return what the task saw of the instructions of its checkout, by relative path."""
    roots = checkout.find_roots(task)
    found: dict[str, ReadInstructions] = {}
    for call in task.calls:
        path = checkout.relative(
            failed_call.path_of(call) or _find_shown_file(call), roots
        )
        if not is_instructions(path) or not checkout.is_inside(path) or call.has_failed:
            continue
        seen = found.setdefault(path, ReadInstructions())
        changes = list(edits.read(call)) if call.kind != "read" else []
        for edit in changes:
            _add_edit(seen, edit.old.splitlines(), edit.new.splitlines())
        if not changes:
            seen.lines |= dict(_read_lines(call))
    return {path: seen for path, seen in found.items() if not seen.is_empty}


def named_paths(line: str) -> list[str]:
    """Return the paths with a folder that a line names in backticks, without a last slash."""
    found = (_PATH.fullmatch(quoted.strip()) for quoted in _QUOTED.findall(line))
    paths = [match[1].rstrip("/") for match in found if match]
    return [path for path in paths if "/" in path and not _ADDRESS.match(f"{path}/")]


def named_commands(line: str) -> list[CheckCommand]:
    """Return the checks that a line names in backticks, or that the line itself is."""
    texts = _QUOTED.findall(line) or [_PROMPT.sub("", line).split(" #")[0].strip()]
    return [check for text in texts for check in check_commands.find(text)]


def _find_shown_file(call: ToolCall) -> str:
    """Return the only file that a shell command shows, as `cat README.md` does."""
    simple = shell_commands.parse(call.command) if call.command else ()
    shown = [one for one in simple if one.program in programs.READERS and not one.is_piped]  # fmt: skip
    operands = [word for one in shown for word in one.operands if is_instructions(word)]
    is_alone = len(simple) == 1 and len(operands) == 1 and simple[0].program == "cat"
    return operands[0] if is_alone else ""


def _read_lines(call: ToolCall) -> Iterator[tuple[int, str]]:
    shown = call.result.splitlines()[:MAX_LINES]
    numbered = [_NUMBERED.match(line) for line in shown]
    if any(numbered):
        for found in filter(None, numbered):
            yield int(found[1]), found[2].strip()[:MAX_LINE]
    elif call.kind == "read":
        yield from ((n, line.strip()[:MAX_LINE]) for n, line in enumerate(shown, 1))


def _add_edit(seen: ReadInstructions, old: Sequence[str], new: Sequence[str]) -> None:
    before = {line.strip()[:MAX_LINE] for line in old}
    after = [line.strip()[:MAX_LINE] for line in new[:MAX_LINES]]
    gone = [line for line in before if line and line not in after]
    seen.removed += sorted(gone)
    seen.added += [line for line in after if line and line not in before]


def current(
    reads: Iterable[tuple[uuid.UUID, str, ReadInstructions]],
) -> Iterator[InstructionLine]:
    """Yield what the files say, given what runs saw of them, the oldest first.

    A line is gone if a task removed it, or if a later read of its place does not have it.
    """
    known: dict[str, dict[str, InstructionLine]] = {}
    for run, path, seen in reads:
        lines = known.setdefault(path, {})
        if seen.lines:
            now = set(seen.lines.values())
            first, last = min(seen.lines), max(seen.lines)
            is_whole = len(seen.lines) >= MIN_DENSITY * (last - first + 1)
            for text, line in list(lines.items()):
                if is_whole and first <= line.number <= last and text not in now:
                    del lines[text]
            for number, text in seen.lines.items():
                if text:
                    lines[text] = _show(InstructionLine(path, number, text), run, lines)
        for text in seen.removed:
            lines.pop(text, None)
        for text in seen.added:
            number = lines[text].number if text in lines else 0
            lines[text] = _show(InstructionLine(path, number, text), run, lines)
    for lines in known.values():
        yield from lines.values()


def _show(
    line: InstructionLine, run: uuid.UUID, before: Mapping[str, InstructionLine]
) -> InstructionLine:
    """Return the line with the runs that showed it before, and with this run."""
    runs = before[line.text].runs if line.text in before else ()
    return replace(line, runs=tuple(dict.fromkeys([*runs, run])))
