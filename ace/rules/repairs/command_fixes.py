"""Phrase the fix of a shell command, if the fix is in the call and not in the files."""

from __future__ import annotations

import posixpath
import re

from ace.rules.repairs import call_repairs
from ace.rules.repairs.call_repairs import Remedy, Repair
from ace.rules.task import Task
from ace.rules.tool_calls import command_purpose

MAX_COMMAND = 100
# Assignments, options and addresses that contain a password or a token.
_SECRET = re.compile(
    r"(?:token|secret|passw\w{0,6}|credential|api_?key)\w{0,20}[=: ]|://[^/\s:@]{1,80}:"
    r"|\bbearer\b",
    re.IGNORECASE,
)
_ID = re.compile(r"\d{4,}|[0-9a-fA-F]{8,}|[A-Z]{1,10}\d{2,}")


def fix_spacing(task: Task, repair: Repair) -> Remedy | None:
    change = repair.change
    if change is None or not call_repairs.is_respaced(change.before, change.after):
        return None
    old, new = str(change.before), str(change.after)
    if "\n" not in old + new:
        return None
    same = [line.strip() for line in old.split("\n")] == [
        line.strip() for line in new.split("\n")
    ]
    if same and len(new) > len(old):
        return Remedy("keep the full leading whitespace of every line", "dropping it")
    return Remedy("copy the whitespace of the file exactly", "changing it")


def fix_command(task: Task, repair: Repair) -> Remedy | None:
    old, new = (
        " ".join(call.command.split())
        for call in (repair.failed_call, repair.fixed_call)
    )
    if max(len(old), len(new)) > MAX_COMMAND or "`" in old + new:
        return None
    if _SECRET.search(old + new):
        return None
    programs = (
        call_repairs.tool_label(repair.failed_call),
        call_repairs.tool_label(repair.fixed_call),
    )
    if programs[0] != programs[1] and _is_unknown_program(repair):
        return Remedy(f"use `{programs[1]}`", f"`{programs[0]}`")
    swapped = _changed_word(old.split(), new.split())
    reads = command_purpose.only_reads(old)
    if swapped and posixpath.basename(swapped[0]) == posixpath.basename(swapped[1]):
        return Remedy(f"use `{swapped[1]}`", f"`{swapped[0]}`")
    if reads or _ID.search(new) or not _is_about_the_command(repair, old, new):
        return None
    return Remedy(f"run `{new}`", f"`{old}`")


def _is_unknown_program(repair: Repair) -> bool:
    error = call_repairs.error_text(repair.failed_call).lower()
    return "command not found" in error or "not recognized" in error


def _changed_word(old: list[str], new: list[str]) -> tuple[str, str] | None:
    if len(old) != len(new):
        return None
    pairs = [pair for pair in zip(old, new, strict=True) if pair[0] != pair[1]]
    return pairs[0] if len(pairs) == 1 else None


_COMMAND_ERRORS = re.compile(
    r"\b(?:command not found|No module named|Cannot find module|unrecognized arguments?"
    r"|(?:unknown|invalid|illegal|no such|unexpected) (?:option|argument|command|flag)"
    r"|usage:|not recognized|permission denied|is not installed|ImportError"
    r"|missing (?:required )?(?:option|argument|operand)|requires? (?:an? )?\w{1,20}"
    r"|not set|must be (?:run|set)|did you mean|externally-managed|timed out)\b",
    re.IGNORECASE,
)


def _is_about_the_command(repair: Repair, old: str, new: str) -> bool:
    """Return whether the error concerns the command itself, not the content that it found."""
    error = call_repairs.error_text(repair.failed_call)
    same_target = command_purpose.targets(old) & command_purpose.targets(
        new
    ) or not command_purpose.targets(new)
    if not same_target and command_purpose.targets(old):
        return False
    return bool(_COMMAND_ERRORS.search(error)) or _only_adds_options(old, new)


def _only_adds_options(old: str, new: str) -> bool:
    """Return whether the fix only added options. In a check, options narrow but do not fix."""
    if command_purpose.is_check(new) or not new.startswith(old):
        return False
    return new[len(old) :].strip().startswith("-")
