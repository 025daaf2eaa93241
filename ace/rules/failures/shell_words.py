"""Compare shell commands: the programs that they run, and the words that changed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice

from ace.rules import word_tables
from ace.rules.failures import masks
from ace.rules.tool_calls import programs, shell_commands
from ace.rules.tool_calls.shell_commands import SimpleCommand

# Another program with this share of the arguments is the same program, as python3 is python.
MIN_ARGUMENTS = 0.5
MAX_WORDS = 60  # words of a change; a longer one is another command

# Programs that prepare the others. They fail seldom and say nothing about them.
_PREPARING = programs.NEUTRAL | {"cd", "pushd", "popd", "mkdir", "source", "unset", ".", "false"}  # fmt: skip
_READERS = programs.READERS | programs.SEARCHERS
# Programs that only look whether something is there.
_PROBES = frozenset({"pwd", "ls", "which", "whoami", "type", "where", "whereis", "date", "uname", "command"})  # fmt: skip
_PROBE_FLAGS = frozenset({"--version", "-V", "--help", "-h", "version", "help"})
# Programs and words that show what another program wrote before: pages, logs.
_SHOWERS = _READERS | word_tables.read("foreign_programs") | {"journalctl", "dmesg"}
_LOG_WORDS = frozenset({"log", "logs", "--log", "--log-failed"})
_NAME = re.compile(r"[a-z][\w:.-]{0,60}")
_ABSOLUTE = re.compile(r"(?:^|[=:'\"])(?:~|/[\w.@+-]|[A-Za-z]:[\\/])")


@dataclass(frozen=True)
class CommandChange:
    """The words that a later command left out and those that it added.

    `is_swap` says that only operands were exchanged, which a task does in any case.
    """

    removed: tuple[str, ...]
    added: tuple[str, ...]
    is_swap: bool

    @property
    def name(self) -> str:
        """Name the change, so that the same change of another command has the same name."""
        parts = [f"-{masks.mask_error(word)}" for word in self.removed]
        parts += [f"+{masks.mask_error(word)}" for word in self.added]
        return " ".join(dict.fromkeys(parts))

    @property
    def has_absolute_path(self) -> bool:
        return any(_ABSOLUTE.search(word) for word in self.added)


def speakers(command: str) -> list[SimpleCommand]:
    """Return the programs that may state an error: no preparation, no filter of output."""
    found = [one for one in shell_commands.parse(command) if one.words]
    return [
        one
        for one in found
        if one.program not in _PREPARING
        and not (one.is_piped and one.program in _READERS)
    ]


def speaks_for_itself(command: str) -> bool:
    """Return whether all that a command prints is its own: no file, page or log."""
    found = speakers(command)
    return bool(found) and not any(map(_shows_others, found))


def _shows_others(simple: SimpleCommand) -> bool:
    if simple.program == "git" and programs.GIT_READS.intersection(simple.words[1:3]):
        return True
    is_log = not _LOG_WORDS.isdisjoint(simple.words[1:])
    return is_log or simple.program.lower() in _SHOWERS


def speaker(command: str, line: str) -> SimpleCommand | None:
    """Return the program that states the line: the one that it names, or else the last."""
    found = speakers(command)
    named = (one for one in found if _names(line, one.program))
    return next(named, found[-1] if found else None)


def _names(line: str, program: str) -> bool:
    return bool(program) and bool(re.search(rf"\b{re.escape(program)}\b", line))


def check_names(command: str) -> frozenset[tuple[str, ...]]:
    """Return the programs of a command with their subcommands: `make lint`.

    Two commands with a common one run the same check.
    """
    return frozenset(
        (one.program, *islice(filter(_NAME.fullmatch, one.words[1:]), 2))
        for one in speakers(command)
    )


def is_same_program(one: str, other: str) -> bool:
    """Return whether the other command runs a program of the first, or takes its arguments.

    A probe such as `ls` or `--version` is no second try.
    """
    return any(
        later.program == first.program or _takes_over(first, later)
        for later in speakers(other)
        if not _is_probe(later)
        for first in speakers(one)
    )


def _takes_over(first: SimpleCommand, later: SimpleCommand) -> bool:
    wanted = set(first.words[1:])
    shared = wanted & set(later.words[1:])
    return bool(wanted) and len(shared) >= MIN_ARGUMENTS * len(wanted)


def _is_probe(simple: SimpleCommand) -> bool:
    return simple.program in _PROBES or not _PROBE_FLAGS.isdisjoint(simple.words[1:])


def compare(failed: str, cured: str) -> CommandChange:
    """Return what changed between a failing command and one that worked.

    Words that differ only in quotes, paths, ids and numbers are no change.
    """
    before, after = _words(failed), _words(cured)
    kept = {masks.mask_error(word) for word in before}
    now = {masks.mask_error(word) for word in after}
    removed = _distinct(word for word in before if masks.mask_error(word) not in now)
    added = _distinct(word for word in after if masks.mask_error(word) not in kept)
    is_swap = (
        bool(removed)
        and bool(added)
        and _program_names(failed) == _program_names(cured)
        and not any(_is_syntax(word) for word in (*removed, *added))
    )
    return CommandChange(removed, added, is_swap)


def _program_names(command: str) -> frozenset[str]:
    return frozenset(one.program for one in speakers(command))


def _is_syntax(word: str) -> bool:
    """Return whether a word is an option or an assignment rather than an operand."""
    return word.startswith("-") or "=" in word


def _words(command: str) -> list[str]:
    """Return the words of all programs, without the filters of output."""
    found: list[str] = []
    for one in shell_commands.parse(command):
        if not (one.is_piped and one.program in _READERS):
            found += [*one.prefix, *one.words]
    return found


def _distinct(words: Iterable[str]) -> tuple[str, ...]:
    return tuple(islice(dict.fromkeys(words), MAX_WORDS))


def cd_targets(command: str) -> Sequence[str]:
    """Return the folders into which a command changes, without the last slash."""
    return [
        one.words[1].rstrip("/")
        for one in shell_commands.parse(command)
        if one.program == "cd" and len(one.words) > 1
    ]
