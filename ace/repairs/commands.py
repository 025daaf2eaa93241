"""Read a shell command: the programs that do its work, and what it may be said as."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

from ace.task import shell, word_tables
from ace.task.shell import SimpleCommand
from ace.task.task import ToolCall

MAX_LABEL = 200  # characters of a command


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
_LOG_WORDS = frozenset({"log", "logs", "--log", "--log-failed"})
# What throws work away, or passes over a check. It cures nothing.
_DISCARDS = re.compile(
    r"(?:^|[\s;&|(])(?:(?:sudo )?(?:rm|rmdir|unlink|shred|truncate|dd|mkfs\w*) "
    r"|git (?:\S{1,80} ){0,4}?(?:reset|clean|restore|revert|rebase --(?:skip|abort)|merge --abort"
    r"|checkout (?:\S{1,80} ){0,3}?(?:--|\.)(?=\s|$)|stash (?:drop|clear)|branch -D|update-ref -d"
    r"|push (?:\S{1,80} ){0,6}?(?:-f|--force\S*|--delete|-d|\+\S+)(?=\s|$))"
    r"|(?:\S{1,80} ){1,4}(?:prune|destroy|delete|uninstall|purge)(?=\s|$))"
    r"|\s--(?:theirs|ours|hard|no-verify|force|force-with-lease|delete|prune)(?=[\s=]|$)"
    r"|-X ?(?:theirs|ours)\b|\s-s ours\b|\|\|\s*(?:true|:|echo|exit 0)|;\s*true\s*$",
)  # fmt: skip
_HEREDOC = re.compile(r"<<-?\s*['\"]?\w")
_TWO_WORD_WRAPPERS = frozenset({("bundle", "exec"), ("mise", "exec"), ("pnpm", "exec"), ("npm", "exec")})  # fmt: skip
_VERSION = re.compile(r"(?<=[a-z])[\d.]+$")
_NAME = re.compile(r"[a-z][\w:.-]{0,60}")
_FILTERS = re.compile(
    r"(?:\s{0,8}2>&1|\s{0,8}2>\s?/dev/null|\s{0,8};\s{0,8}echo [^;|&\n]{0,200}"
    r"|\s{0,8}\|\s{0,8}(?:head|tail|cat|less|more|wc|tee|e?grep|rg|sort|uniq|column)\b[^|;&\n]{0,200}"
    r"){1,12}\s{0,8}$"
)
_SECRET = re.compile(r"(?:token|secret|passw\w{0,6}|credentials?|api_?key)[=: ]\S|\bbearer\b|\[secret:|REDACTED", re.IGNORECASE)  # fmt: skip
_LOCAL = re.compile(r"(?:^|[=:'\"\s`(])(?:~|\$HOME|/home/|/Users/|/root\b|/tmp\b|/private/|/var/folders/|[A-Za-z]:[\\/])")  # fmt: skip

# One test, one commit, one request, one row: nobody needs them again.
_OF_ONE_MOMENT = re.compile(
    r"(?<![\w-])-{1,2}(?:run|k|testNamePattern|tests|Dtest|grep|filter)[= ]|::\w"
    r"|\b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,40}\b|/\d{2,}\b|#\d+|\b\d{6,}\b|\$\(|`"
    r"|@\{|HEAD[~^]|\bstash\b"
    # A number that is no value of a flag and no version: `gh pr diff 104`.
    r"|(?<!\S)(?!(?:use|install)\b)[a-z][\w-]{0,40} #?\d{1,6}(?!\S)"
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


def is_private(text: str) -> bool:
    """Return whether a text names a folder of one person or of one moment, or a secret."""
    return bool(_LOCAL.search(text) or _SECRET.search(text))


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


def cd_targets(command: str) -> Iterator[str]:
    """Yield the folders into which a command changes, without the last slash."""
    for one in shell.parse(command):
        if one.program == "cd" and len(one.words) > 1:
            yield one.words[1].rstrip("/")
