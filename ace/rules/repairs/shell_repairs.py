"""Pair a failed shell command with the command that cured it, and name the change.

Only a change of the command itself is a repair: a flag that the program complained about or
asked for, or a quoted argument. Other paths, names and values are other questions, and a
program that is not there is a fact of one machine.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ace.rules import error_signature
from ace.rules.files import command_files
from ace.rules.task import Task, ToolCall
from ace.rules.tool_calls import command_purpose, programs, shell_commands
from ace.rules.tool_calls.shell_commands import SimpleCommand

# In calls. After more, the same program is run for something else.
WINDOW = 8
# Share of the shorter command's arguments that the other one has too. With fewer, the two
# commands ask different questions.
SAME_QUESTION = 0.5
MAX_COMMAND, MAX_RESULT = 4_000, 4_000
MAX_SUBCOMMANDS = 2
MIN_WORD = 4  # letters

_COMPLAINT = re.compile(
    r"^[^\n]{0,160}?(?:\b(?:unknown|unrecogni[sz]ed|unsupported|illegal|invalid|unexpected"
    r"|undefined|ambiguous|deprecated|no such) (?:shorthand )?(?:flag|option|argument|command"
    r"|subcommand|switch|parameter)|flag provided but not defined|command not found"
    r"|is not recognized|not a valid (?:flag|option|command)|not a git command"
    r"|(?:missing|requires?|required|needs?|expects?) (?:an? |the )?(?:\w{1,20} )?(?:flag"
    r"|option|argument|operand|value|parameter)|no upstream branch|must be (?:set|given"
    r"|specified)|no matches found|parse error|unterminated quoted|unmatched"
    r"|is not installed|externally-managed)[^\n]{0,160}",
    re.IGNORECASE | re.MULTILINE,
)
_ASKS = re.compile(r"missing|requir|need|expect|must be|no upstream", re.IGNORECASE)
_QUOTING = re.compile(r"no matches found|parse error|quoted|unmatched", re.IGNORECASE)
# Assignments, options and addresses that contain a password or a token.
_SECRET = re.compile(
    r"(?:token|secret|passw\w{0,6}|credential|api_?key)\w{0,20}[=: ]|://[^/\s:@]{1,80}:"
    r"|\bbearer\b",
    re.IGNORECASE,
)
_FLAG = re.compile(r"(--?[A-Za-z][\w-]{0,40})(?:=.*)?", re.DOTALL)
_SUBCOMMAND = re.compile(r"[a-z][a-z-]{1,24}(?::[a-z-]{1,24})?")
_SPECIAL = frozenset("*?[]{}()!&$<>|")


@dataclass(frozen=True)
class ShellRepair:
    """The failed and the curing call, and the change between their commands in words.

    `program` is the program with its subcommands, as both commands name it. `complaint` is
    the span of the line of the failed result that states the error.
    """

    failed_call: ToolCall
    fixed_call: ToolCall
    program: str
    action: str
    complaint: tuple[int, int]


def find(task: Task) -> Iterator[ShellRepair]:
    """Yield the repair of each failed command whose program complains about the command."""
    for failed in task.calls:
        if failed.has_failed and failed.command:
            complaint = _COMPLAINT.search(failed.result[:MAX_RESULT])
            if complaint and (repair := _find_cure(task, failed, complaint)):
                yield repair


def _find_cure(
    task: Task, failed: ToolCall, complaint: re.Match[str]
) -> ShellRepair | None:
    masked = error_signature.mask_values(complaint[0].strip())
    for call in task.calls[failed.index + 1 : failed.index + 1 + WINDOW]:
        if _changes_files(call):
            return None  # the change of a file may be the cure
        # A check that now reports findings accepted the command.
        if not call.command or (
            call.has_failed and not command_purpose.is_check(call.command)
        ):
            continue
        if masked in error_signature.mask_values(call.result[:MAX_RESULT]):
            continue
        if _SECRET.search(failed.command + call.command):
            continue
        for old, new in _pairs(failed.command, call.command):
            action = _change(failed, call, old, new, complaint[0])
            if action:
                label = _label(old, new)
                return ShellRepair(failed, call, label, action, complaint.span())
    return None


def _changes_files(call: ToolCall) -> bool:
    if call.kind != "run":
        return call.kind in ("create", "modify", "delete", "move")
    links = command_files.find_links(call.command)
    return any(link.relation not in ("read", "referenced") for link in links)


def _pairs(old: str, new: str) -> Iterator[tuple[SimpleCommand, SimpleCommand]]:
    """Yield the simple commands of two command lines that ask the same question."""
    for one in _simple_commands(old):
        for other in _simple_commands(new):
            these, those = set(one.words[1:]), set(other.words[1:])
            shorter = min(len(these), len(those))
            if len(these & those) >= SAME_QUESTION * shorter:
                yield one, other


def _simple_commands(command: str) -> list[SimpleCommand]:
    parsed = shell_commands.parse(command[:MAX_COMMAND])
    return [one for one in parsed if one.words and one.program not in programs.NEUTRAL]


def _change(
    failed: ToolCall,
    fixed: ToolCall,
    old: SimpleCommand,
    new: SimpleCommand,
    complaint: str,
) -> str:
    """Return what to do, or "" if the change does not answer the complaint."""
    if old.program != new.program:
        return ""
    gone = [flag for flag in _flags(old) if flag not in _flags(new)]
    added = [flag for flag in _flags(new) if flag not in _flags(old)]
    refused = next((flag for flag in gone if _names(complaint, flag)), "")
    if refused and len(added) == 1 and _others(old) == _others(new):
        return f"use `{added[0]}` instead of `{refused}`"
    if refused:
        return f"do not pass `{refused}`"
    is_whole = _others(old) == _others(new)
    is_asked = _ASKS.search(complaint) and (is_whole or _is_about(complaint, added))
    if added and not gone and (is_asked or _names(complaint, added[0])):
        return f"pass `{added[0]}`"
    return _quote_change(failed, fixed, new) if _QUOTING.search(complaint) else ""


def _flags(simple: SimpleCommand) -> list[str]:
    found = (_FLAG.fullmatch(word) for word in simple.words[1:])
    return [flag[1] for flag in found if flag]


def _others(simple: SimpleCommand) -> list[str]:
    return [word for word in simple.words[1:] if not _FLAG.fullmatch(word)]


def _names(complaint: str, word: str) -> bool:
    return re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", complaint) is not None


def _is_about(complaint: str, flags: Sequence[str]) -> bool:
    """Whether a word of the first flag is in the complaint, as in "no upstream branch"."""
    known = complaint.lower()
    words = flags[0].strip("-").lower().split("-") if flags else []
    return any(len(word) >= MIN_WORD and word in known for word in words)


def _quote_change(failed: ToolCall, fixed: ToolCall, new: SimpleCommand) -> str:
    """Say which argument the cure put in quotes, which the failed command had without them."""
    for word in new.words[1:]:
        for mark in "'\"":
            quoted = f"{mark}{word}{mark}"
            bare = word in failed.command and quoted not in failed.command
            if bare and quoted in fixed.command and set(word) & _SPECIAL:
                return f"put {_example(quoted)} in quotes"
    return ""


def _example(text: str) -> str:
    return f"an argument such as `{text}`" if len(text) <= 60 else "such arguments"


def _label(old: SimpleCommand, new: SimpleCommand) -> str:
    """Return the program with the subcommands that both commands have, in their order."""
    words: list[str] = [old.words[0]]
    if old.program not in programs.READERS | programs.SEARCHERS:
        for one, other in zip(old.words[1:], new.words[1:], strict=False):
            if one != other or not _SUBCOMMAND.fullmatch(one):
                break
            words.append(one)
    return " ".join(words[: 1 + MAX_SUBCOMMANDS])


def spans_of(call: ToolCall, words: Sequence[str]) -> list[tuple[int, int]]:
    """Return where the words stand in the arguments of the call, each at its first place."""
    starts = ((call.arguments_text.find(word), len(word)) for word in words)
    return [(start, start + length) for start, length in starts if start >= 0]
