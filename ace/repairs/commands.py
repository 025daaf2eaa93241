"""Compare two shell commands as a machine reads them: what of the second one is a cure.

Free text (messages, code, heredocs) is no change, and neither is what only says how loud a
program is or which of its tests it runs.
"""

from __future__ import annotations

import posixpath
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice, pairwise

from ace.repairs import masks
from ace.task import shell, word_tables
from ace.task.shell import SimpleCommand
from ace.task.task import ToolCall

MAX_LABEL = 200  # characters of a command
MAX_CHANGES = 8  # words; more make another command

# Programs that prepare the others. They fail seldom and say nothing about them.
_SETTERS = frozenset({"export", "source", ".", "set", "unset"})
_MANAGERS = frozenset({"nvm", "fnm", "pyenv", "rbenv", "conda", "asdf", "sdk"})
_CHOOSES = frozenset({"use", "activate", "shell", "local", "global"})
_PREPARING = shell.NEUTRAL | _SETTERS | {"cd", "pushd", "popd", "mkdir", "false", "sleep"}  # fmt: skip
_READERS = shell.READERS | shell.SEARCHERS
_PROBES = frozenset({"pwd", "ls", "which", "whoami", "type", "where", "whereis", "date", "uname", "command"})  # fmt: skip
# Flags with which a program only talks about itself, or only pretends to work.
_PROBE_FLAGS = frozenset({"--version", "-V", "--help", "version", "help", "--dry-run", "--list", "--exit-zero"})  # fmt: skip
# Programs and words that show what another program wrote before: pages, logs.
_SHOWERS = _READERS | word_tables.read("foreign_programs") | {"journalctl", "dmesg"}
_RUNNERS = word_tables.read("task_runners")
_LOG_WORDS = frozenset({"log", "logs", "--log", "--log-failed"})
# What throws work away, or passes over a check. It cures nothing.
_DISCARDS = re.compile(
    r"(?:^|[\s;&|(])(?:(?:sudo )?(?:rm|rmdir|unlink|shred|truncate|dd|mkfs\w*) "
    r"|git (?:\S+ ){0,4}?(?:reset|clean|restore|revert|rebase --(?:skip|abort)|merge --abort"
    r"|checkout (?:\S+ ){0,3}?(?:--|\.)(?=\s|$)|stash (?:drop|clear)|branch -D|update-ref -d"
    r"|push (?:\S+ ){0,6}?(?:-f|--force\S*|--delete|-d|\+\S+)(?=\s|$))"
    r"|(?:\S+ ){1,4}(?:prune|destroy|delete|uninstall|purge)(?=\s|$))"
    r"|\s--(?:theirs|ours|hard|no-verify|force|force-with-lease|delete|prune)(?=[\s=]|$)"
    r"|-X ?(?:theirs|ours)\b|\s-s ours\b|\|\|\s*(?:true|:|echo|exit 0)|;\s*true\s*$",
)  # fmt: skip
_HEREDOC = re.compile(r"<<-?\s*['\"]?\w")
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
_CD = re.compile(r"\bcd:|(?:not|no such).{0,20}directory: ", re.IGNORECASE)
_TWO_WORD_WRAPPERS = frozenset({("bundle", "exec"), ("mise", "exec"), ("pnpm", "exec"), ("npm", "exec")})  # fmt: skip
_VERSION = re.compile(r"(?<=[a-z])[\d.]+$")
_NAME = re.compile(r"[a-z][\w:.-]{0,60}")
_FILTERS = re.compile(
    r"(?:\s*2>&1|\s*2>\s?/dev/null|\s*;\s*echo [^;|&\n]*|\s*\|\s*(?:head|tail|cat|less|more|wc|tee"
    r"|e?grep|rg|sort|uniq|column)\b[^|;&\n]*)+\s*$"
)
_LOCAL = re.compile(r"(?:^|[=:'\"\s`(])(?:~|\$HOME|/home/|/Users/|/root\b|/tmp\b|/private/|/var/folders/|[A-Za-z]:[\\/])")  # fmt: skip

# One test, one commit, one request, one row: nobody needs them again.
_OF_ONE_MOMENT = re.compile(
    r"(?<![\w-])-{1,2}(?:run|k|testNamePattern|tests|Dtest|grep|filter)[= ]|::\w"
    r"|\b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,40}\b|/\d{2,}\b|#\d+|\b\d{6,}\b|\$\(|`"
    r"|@\{|HEAD[~^]|\bstash\b"
)


@dataclass(frozen=True)
class Program:
    """A program of a command line, and all that it was run with.

    `wrapper` has the words before the program, `environment` the variables and the files that
    were sourced, and `folder` where it ran.
    """

    words: tuple[str, ...]
    wrapper: tuple[str, ...] = ()
    environment: tuple[str, ...] = ()
    folder: str = ""

    @property
    def name(self) -> str:
        """Return the name without its version: `python3` and `./gradlew` are python, gradle."""
        name = _VERSION.sub("", self.words[0].rpartition("/")[2])
        return name.removesuffix("w") if name in ("gradlew", "mvnw") else name

    @property
    def is_reader(self) -> bool:
        is_git = self.name == "git" and shell.GIT_READS & set(self.words[1:3])
        return self.name in _READERS or bool(is_git)

    @property
    def is_probe(self) -> bool:
        asks = not _PROBE_FLAGS.isdisjoint(self.words[1:]) or self.words[-1] == "-h"
        return asks or self.name in _PROBES


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


def speakers(command: str) -> list[SimpleCommand]:
    """Return the programs that may state an error: no preparation, no filter of output."""
    return [
        one
        for one in shell.parse(command)
        if one.words
        and one.program not in _PREPARING
        and not (one.is_piped and one.program in _READERS)
    ]


def speaker(command: str, line: str) -> SimpleCommand | None:
    """Return the program that states the line: the one that it names, or else the last."""
    found = speakers(command)
    named = (one for one in found if stands_in(one.program, line))
    return next(named, found[-1] if found else None)


def speaks_for_itself(command: str) -> bool:
    """Return whether all that a command prints is its own: no file, page or log."""
    found = speakers(command)
    return bool(found) and not any(map(_shows_others, found))


def _shows_others(simple: SimpleCommand) -> bool:
    if simple.program == "git" and shell.GIT_READS.intersection(simple.words[1:3]):
        return True
    is_log = not _LOG_WORDS.isdisjoint(simple.words[1:])
    return is_log or simple.program.lower() in _SHOWERS


def check_names(command: str) -> frozenset[tuple[str, ...]]:
    """Return the programs of a command with their subcommands: `make lint`.

    Two commands with a common one run the same check.
    """
    return frozenset(
        (one.program, *islice(filter(_NAME.fullmatch, one.words[1:]), 2))
        for one in speakers(command)
    )


def stands_in(word: str, text: str) -> bool:
    """Return whether a text has a word that is no part of a longer one."""
    pattern = rf"(?<![\w-]){re.escape(word)}(?![\w-])"
    return bool(word) and re.search(pattern, text) is not None


def tool_label(call: ToolCall) -> str:
    """Return the name of the tool. For a shell command, return the name of the program."""
    parsed = shell.parse(call.command[:MAX_LABEL])
    return parsed[0].program if parsed else call.tool_name


def discards(command: str) -> bool:
    """Return whether a command throws something away, or hides that it failed."""
    return bool(_DISCARDS.search(command))


def is_local(text: str) -> bool:
    """Return whether a text names a folder of one person or of one moment."""
    return bool(_LOCAL.search(text))


def is_of_one_moment(text: str) -> bool:
    """Return whether a command is about one test, one commit, one request or one row."""
    return bool(_OF_ONE_MOMENT.search(text))


def whole(command: str) -> str:
    """Return a command without the filters of its output; "" if it is a script."""
    text = _FILTERS.sub("", command.strip())
    return "" if "\n" in text or _HEREDOC.search(text) else text


def read(call: ToolCall) -> list[Program]:
    """Return the programs of a call that do its work, each with what it was run with."""
    found: list[Program] = []
    folder, environment = call.cwd.rstrip("/"), list[str]()
    for simple in shell.parse(call.command):
        if simple.program in ("cd", "pushd"):
            folder = posixpath.normpath(posixpath.join(folder, *simple.operands[:1]))
        elif _sets(simple):
            environment += [" ".join(simple.words)] if simple.program != "export" else simple.operands  # fmt: skip
        elif not simple.words:
            environment += simple.assignments
        elif simple.program not in _PREPARING and not (
            simple.is_piped and simple.program in _READERS
        ):
            found.append(_program(simple, environment, folder))
    return found


def _program(simple: SimpleCommand, environment: Iterable[str], folder: str) -> Program:
    wrapper = [word for word in simple.prefix if word not in simple.assignments]
    words = list(simple.words)
    is_module = words[0].startswith("python") and words[1:2] == ["-m"]
    if len(words) > 2 and (is_module or tuple(words[:2]) in _TWO_WORD_WRAPPERS):
        wrapper, words = [*wrapper, *words[:2]], words[2:]
        words = words[1:] if words[0] == "--" and len(words) > 1 else words
    if len(words) > 1 and words[-1] in ("1", "2"):  # of `2>&1`, which the parser leaves
        words.pop()
    variables = (*environment, *simple.assignments)
    return Program(tuple(words), tuple(wrapper), variables, folder)


def is_same(one: ToolCall, other: ToolCall) -> bool:
    """Return whether two calls run the same command, whatever filters its output."""
    return whole(one.command) == whole(other.command) != "" and one.cwd == other.cwd


def _sets(simple: SimpleCommand) -> bool:
    """Return whether a command sets variables, sources a file, or chooses a version."""
    is_manager = simple.program in _MANAGERS and simple.words[1:2] != ()
    chooses = is_manager and simple.words[1] in _CHOOSES
    return simple.program in _SETTERS or chooses


def only_prepares(command: str) -> bool:
    """Return whether a command only sets variables or a version, or sources a file."""
    found = shell.parse(command)
    return bool(found) and all(_sets(one) or not one.words for one in found)


def names_command(error: str, command: str) -> bool:
    """Return whether an error tells to run a command: a program with its first word."""
    return any(
        len(one.words) > 1 and stands_in(" ".join(one.words[:2]), error)
        for one in speakers(command)
    )


def compare(
    failed: ToolCall, later: ToolCall, error: str, line: str = ""
) -> Change | None:
    """Return the change with which a later command answers an error, if it does.

    `error` is the text about the line that states the error.
    """
    if discards(later.command) or _HEREDOC.search(later.command):
        return None
    olds, news = read(failed), read(later)
    before = {one.words for one in olds}
    spoke = speaker(failed.command, line)
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
        is_value = before in some and before.startswith("-") and "=" not in before
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
    is_asked = change.is_named or (_ASKS.search(error) and not new.is_reader)
    if change.operands and not replaced and not is_asked:
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


def cd_targets(command: str) -> Iterator[str]:
    """Yield the folders into which a command changes, without the last slash."""
    for one in shell.parse(command):
        if one.program == "cd" and len(one.words) > 1:
            yield one.words[1].rstrip("/")
