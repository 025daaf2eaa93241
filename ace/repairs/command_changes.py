"""Find what a later command did otherwise, and whether that answers the error of the first.

Only what a machine reads is a change: variables, flags, folders, wrappers, quotes, paths, names
that the error speaks of. Free text (messages, code, heredocs) is none, and neither is what only
says how loud a program is or which of its tests it runs.
"""

from __future__ import annotations

import posixpath
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from ace.repairs import commands, masks
from ace.repairs.commands import Program, cd_targets, stands_in
from ace.task import word_tables
from ace.task.task import ToolCall

MAX_CHANGES = 8  # words; more make another command
_TEXT_FLAGS = frozenset({"-m", "--message", "--body", "--title", "--notes", "--jq"})
_CODE = re.compile(r"[\s(){};]")
_TEXT = "\0"
# Flags that say how loud a program is, or which of its tests or rows are meant.
_BESIDE = re.compile(
    r"-{1,2}(?:v{1,4}|verbose|q{1,2}|quiet|silent|s|no-?colou?rs?|colou?rs?|no-pager|no-header"
    r"|progress|tb|reporter|count|info|debug|stacktrace|rA|nologo|run|k|t|g|filter|grep|tests?"
    r"|test-?name-?pattern|only|only-testing|name|example|bench|Dtest|Dit\.test|limit|head|tail"
    r"|lines|since|until|skip\S*|ignore\S*|exclude|deselect|short|x)(?:=.*)?"
)
_QUOTES = re.compile(r"['\"\\]")
# An error that is about how a command was quoted, and one that asks for something.
_QUOTING = re.compile(r"no matches found|parse error|syntax error|unexpected (?:EOF|token|end)|unterminated|unmatched|bad pattern|event not found", re.IGNORECASE)  # fmt: skip
_ASKS = re.compile(
    r"missing|requir|need|expect|must|specif|usage|not (?:given|specified|set|found)"
    r"|does not exist|no such|\bno \w|could not find|at least|either",
    re.IGNORECASE,
)
_RUNNERS = word_tables.read("task_runners")
_CD = re.compile(r"\bcd:|(?:not|no such).{0,20}directory: ", re.IGNORECASE)


@dataclass(frozen=True)
class Change:
    """What a later command did otherwise: the words that came, and those that went.

    `left` is a folder that it did not enter, `program` another name of the program.
    `is_named` says that the error names one of the words.
    """

    flags: tuple[str, ...] = ()
    operands: tuple[str, ...] = ()
    gone_flags: tuple[str, ...] = ()
    gone_operands: tuple[str, ...] = ()
    environment: tuple[str, ...] = ()
    wrapper: tuple[str, ...] = ()
    folder: str = ""
    left: str = ""
    program: str = ""
    is_quoting: bool = False
    is_named: bool = False

    @property
    def added(self) -> tuple[str, ...]:
        folder = (f"cd {self.folder}",) if self.folder else ()
        program = (self.program,) if self.program else ()
        return (*folder, *self.environment, *self.wrapper, *program, *self.flags, *self.operands)  # fmt: skip

    @property
    def gone(self) -> tuple[str, ...]:
        left = (f"cd {self.left}",) if self.left else ()
        return (*left, *self.gone_flags, *self.gone_operands)

    @property
    def is_around(self) -> bool:
        """Whether the same command ran in another folder or environment, or in a wrapper."""
        is_same = not (self.gone or self.flags or self.operands or self.program)
        return is_same and bool(self.environment or self.wrapper or self.folder)

    @property
    def name(self) -> str:
        """Name the change, so that the same change of another command has the same name."""
        parts = [f"-{word}" for word in self.gone] + [f"+{w}" for w in self.added]
        quoting = ["quotes"] if self.is_quoting else []
        return " ".join(dict.fromkeys([*map(masks.mask_error, parts), *quoting]))


def compare(
    failed: ToolCall, later: ToolCall, error: str, line: str = ""
) -> Change | None:
    """Return the change with which a later command answers an error, if it does.

    `error` is the text about the line that states the error.
    """
    if commands.discards(later.command) or not commands.whole(later.command):
        return None
    olds, news = commands.read(failed), commands.read(later)
    before = {one.words for one in olds}
    spoke = commands.speaker(failed.command, line)
    if spoke and not _CD.search(line):
        olds = [one for one in olds if one.words[-1] == spoke.words[-1]] or olds[-1:]
    for new in news:
        others = [one for one in news if one.words not in before and one != new]
        if others or new.is_probe:
            continue
        for old in olds:
            change = _change(old, new, failed, later, error)
            if _answers(change, old, new, error, line, later.result):
                return change
    return None


def _change(
    old: Program, new: Program, failed: ToolCall, later: ToolCall, error: str
) -> Change:
    gone, came = _minus(_machine_words(old), _machine_words(new))
    flags, operands = _sort(came, new.words)
    gone_flags, gone_operands = _sort(gone, old.words)
    folder, left = _folder(failed, later, old, new, error)
    change = Change(
        flags=tuple(flags),
        operands=tuple(operands),
        gone_flags=tuple(gone_flags),
        gone_operands=tuple(gone_operands),
        environment=tuple(w for w in new.environment if w not in old.environment),
        wrapper=tuple(w for w in new.wrapper if w not in old.wrapper),
        folder=folder,
        left=left,
        program=new.words[0] if old.words[0] != new.words[0] else "",
        is_quoting=not (gone or came)
        and bool(_QUOTING.search(error))
        and _is_requoted(failed.command, later.command),
    )
    is_named = any(names(error, word) for word in (*change.gone, *change.added))
    return replace(change, is_named=is_named)


def _machine_words(program: Program) -> list[str]:
    """Return the arguments; what is written for people, and code, is one and the same word."""
    words: list[str] = []
    for before, word in pairwise(program.words):
        is_text = before in _TEXT_FLAGS or _CODE.search(word)
        words.append(_TEXT if is_text else word)
    return words


def _minus(old: Sequence[str], new: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the words of each list that the other one lacks, without free text."""
    gone, came = Counter(old) - Counter(new), Counter(new) - Counter(old)
    return (
        [word for word in dict.fromkeys(old) if word in gone and word != _TEXT],
        [word for word in dict.fromkeys(new) if word in came and word != _TEXT],
    )


def _sort(some: Sequence[str], words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Divide words of a command into flags with their values, and operands."""
    flags: list[str] = []
    operands: list[str] = []
    for word in some:
        before = words[words.index(word) - 1]
        is_flag = before.startswith("-") and before != "--" and "=" not in before
        is_value = is_flag and before in some
        (flags if word.startswith("-") or is_value else operands).append(word)
    return flags, operands


def _folder(
    failed: ToolCall, later: ToolCall, old: Program, new: Program, error: str
) -> tuple[str, str]:
    """Return the other folder in which the later command ran, and the one it did not enter.

    Where a client does not say its folder, a shell may have stayed where `cd` led it.
    """
    if old.folder == new.folder:
        return "", ""
    if entered := [*cd_targets(later.command)]:
        return entered[-1], ""
    if failed.cwd and new.folder.startswith(f"{failed.cwd.rstrip('/')}/"):
        return posixpath.relpath(new.folder, failed.cwd), ""
    left = [*cd_targets(failed.command)][-1:] if later.cwd or _CD.search(error) else []
    return "", "".join(left)


def _is_requoted(one: str, other: str) -> bool:
    return one != other and _QUOTES.sub("", one) == _QUOTES.sub("", other)


def _answers(
    change: Change, old: Program, new: Program, error: str, line: str, result: str
) -> bool:
    """Return whether a change answers the error, and does not only ask something else."""
    if len(change.gone) + len(change.added) > MAX_CHANGES:
        return False
    if old.name != new.name:
        return _takes_over(old, new, error, result)
    replaced = [*change.gone_operands, *_new_values(change, new)]
    if not all(names(line, word) for word in replaced):
        return False
    if new.is_reader and not _has_same_names(change):
        return False  # it looks elsewhere
    is_asked = any(names(error, word) for word in change.operands)
    if change.operands and not (replaced or is_asked or _ASKS.search(error)):
        return False
    if change.is_named or change.is_quoting:
        return True
    flags = (*change.flags, *change.gone_flags)
    wrapper = set(change.wrapper) - {"time", "timeout", "nice", "nohup"}
    return not new.is_reader and bool(
        [word for word in flags if not _is_beside(word, flags)]
        or (change.operands and not replaced)
        or (change.environment, wrapper, change.folder, change.left, change.program)
        != ((), set(), "", "", "")
    )


def _new_values(change: Change, new: Program) -> list[str]:
    """Return the flags that stayed with another value: of these, the error must speak."""
    kept = {word.partition("=")[0] for word in new.words if "=" in word}
    return [
        word
        for word in change.gone_flags
        if "=" in word and word.partition("=")[0] in kept
    ]


def _has_same_names(change: Change) -> bool:
    """Return whether the files of a command are the same ones, in other folders."""
    gone, came = (
        {posixpath.basename(word) for word in words}
        for words in (change.gone_operands, change.operands)
    )
    return gone == came


def _is_beside(word: str, flags: Sequence[str]) -> bool:
    """Return whether a flag, or the value of one, only says how loud or which part."""
    if not word.startswith("-"):
        return True
    after = flags[flags.index(word) + 1 :][:1]
    is_count = bool(after) and after[0].isdigit()
    return is_count or word in _TEXT_FLAGS or bool(_BESIDE.fullmatch(word))


def _takes_over(old: Program, new: Program, error: str, result: str) -> bool:
    """Return whether another program runs the first one, or is named in the error."""
    is_named = re.search(rf"\b{re.escape(new.name)}\b", error)
    if is_named and set(old.words[1:]) & set(new.words[1:]):
        return True
    if new.words[-len(old.words) :] == old.words:
        return True
    ran = rf"^(?:(?:\[[^\]\n]{{1,40}}\] )?[$>] [^\n]{{0,60}})?\b{re.escape(old.name)} "
    return new.name in _RUNNERS and re.search(ran, result, re.MULTILINE) is not None


def names(error: str, word: str) -> bool:
    """Return whether an error names a flag, a variable, a path or another word."""
    name, _, value = word.rpartition(" ")[2].lstrip("$").partition("=")
    if len(name) == 2 and name.startswith("-"):
        letter = re.escape(name[1])
        return bool(re.search(rf"(?:-- ?['\"]?|[\s'\"`]-){letter}(?!\w)", error))
    last = (value or name).rstrip("/").rpartition("/")[2]
    return (len(name) > 1 and stands_in(name, error)) or (
        len(last) > 2 and not last.startswith("-") and stands_in(last, error)
    )
