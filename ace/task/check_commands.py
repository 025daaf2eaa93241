"""Recognise the commands that build, test, lint, format or run a project, and mask them."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import dropwhile

from ace.task import shell, word_tables
from ace.task.shell import SimpleCommand


class CheckKind(StrEnum):
    TEST = "test"
    LINT = "lint"
    FORMAT = "format"
    BUILD = "build"
    RUN = "run"


MAX_WORDS = 25  # of a command; a longer one is a script
MAX_COMMAND = 200  # characters
MAX_OPERANDS = 3  # words after a runner that may name its task
NAME, TEXT, PATH = "<name>", "<text>", "<path>"

_PROGRAMS = word_tables.read_values("check_programs")
_RUNNERS = word_tables.read("task_runners")
# Of the words of a task's name, the first kind that one of them names.
_KINDS = (
    (CheckKind.TEST, re.compile(r"tests?|spec|specs|e2e|integration|nextest|pytest|vitest|jest|unittest")),
    (CheckKind.LINT, re.compile(r"lint\w*|\w{0,12}lint|vet|check|checks|clippy|typecheck|types?|tsc|mypy|verify|validate|analy[sz]e|credo|dialyzer")),
    (CheckKind.FORMAT, re.compile(r"fmt|format|prettier|black|tidy|rustfmt")),
    (CheckKind.BUILD, re.compile(r"build|compile|assemble|bundle|package|dist|install")),
    (CheckKind.RUN, re.compile(r"run|start|serve|dev|server|runserver|watch|preview")),
)  # fmt: skip
_PART = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z]+")
# Words between a runner and the name of the task.
_FILLERS = frozenset({"run", "exec", "-m", "--", "x", "r", "tool", "dlx"})
_SCRIPT = re.compile(r"(?:\./|\.\./|[\w.-]+/)?(?:[\w.-]+/){0,6}[\w.-]+")
# Flags that only change what is shown, or where it is counted.
_NOISE = re.compile(
    r"-{1,2}(?:v{1,4}|verbose|q{1,2}|quiet|silent|s|no-?colou?rs?|colou?rs?(?:=.{0,20})?"
    r"|count(?:=\d{1,3})?|no-header|progress(?:=.{0,20})?|tb=\w{1,10}|reporter=.{1,20})"
)
# Flags whose value is the name of a test, or a label.
_NAMING = re.compile(
    r"-{1,2}(?:run|k|t|g|filter|grep|tests?|test-?name-?pattern|only-testing|name|example|bench"
    r"|Dtest|Dit\.test|m|label|labels|tag-?name)"
)
_HOW = re.compile(r"-{1,2}(?:timeout|max-?time|parallel|jobs|workers)|-j|-n")
# Programs that give another one its environment. Others, as `time`, say nothing about it.
_WRAPPERS = frozenset({"npx", "bunx", "poetry", "uv", "pipenv", "sudo"})
_SETTERS = frozenset({"export", "source", "."})
_DESCRIPTOR = re.compile(r"\d")  # of `2>&1`, which the parser leaves
_IS_PATH = re.compile(
    r"(?:\.{1,2}|~|\$\w{1,40})?/|[\w.@-]{1,100}/|[\w-]{1,100}\.[a-z]{1,5}$"
)
_OWN_TEST = re.compile(r"::|#")


@dataclass(frozen=True)
class CheckCommand:
    """A command that checks, builds or runs the project.

    Two commands have the same `pattern` if they differ only in names of tests, quoted text,
    paths and flags of verbosity. `text` keeps the paths, but those of one machine. Both begin
    with the folder and the variables that the command was run with.
    """

    kind: CheckKind
    pattern: str
    text: str


def find(command: str, inside: str = "") -> list[CheckCommand]:
    """Return the checks of a command line, in order; none of a line that has no check.

    The line was run `inside` a folder of the checkout.
    """
    checks: list[CheckCommand] = []
    folder = _go_to(inside)
    setup: list[str] = []
    for simple in shell.parse(command):
        if simple.program == "cd":
            name = _folder(simple)
            folder = _go_to(posixpath.join(inside, name) if name else "")
        elif simple.program in _SETTERS:
            setup += [*map(_hide, simple.words), "&&"]
        elif check := read(simple, [*setup, *folder]):
            checks.append(check)
    return checks


def core_of(text: str) -> tuple[str, ...]:
    """Return the words of a check behind its folder, its variables and its wrappers."""
    last = shell.parse(text)[-1]
    return (*last.words, *last.reads, *last.writes)


def _go_to(folder: str) -> list[str]:
    return [f"cd {_quote(folder)} &&"] if folder else []


def read(simple: SimpleCommand, start: Sequence[str] = ()) -> CheckCommand | None:
    """Return the check of a command, behind the words that set the scene for it."""
    words = _words(simple)
    kind = _kind(words) if 0 < len(words) <= MAX_WORDS else None
    if kind is None:
        return None
    start = [*start, *(_quote(_hide(word)) for word in simple.assignments)]
    wrapper = dropwhile(lambda word: word not in _WRAPPERS, simple.prefix)
    start += [word for word in wrapper if word not in simple.assignments]
    text = " ".join([*start, *(_quote(_hide(word)) for word in _mask(words))])
    pattern = " ".join([*start, pattern_of(words)])
    return CheckCommand(kind, pattern, text) if len(text) <= MAX_COMMAND else None


def _folder(change: SimpleCommand) -> str:
    """Return the folder of a `cd`; empty for one that is not inside the checkout."""
    folder = next(iter(change.operands), "")
    return "" if folder.startswith(("/", "~", "$", "..")) or folder == "." else folder


def pattern_of(words: Sequence[str]) -> str:
    """Return the masked words; names of tests and paths stand last, wherever they stood."""
    first, *others = _mask(words)
    masked = list(dict.fromkeys([first, *map(_mask_path, others)]))
    return " ".join(
        sorted(masked, key=lambda word: (word != first, PATH in word, NAME in word))
    )


def _words(simple: SimpleCommand) -> list[str]:
    words = list(simple.words)
    while len(words) > 1 and _DESCRIPTOR.fullmatch(words[-1]):
        words.pop()
    return words


def _kind(words: Sequence[str]) -> CheckKind | None:
    program = words[0].rpartition("/")[2]
    if program in _PROGRAMS:
        is_format = {"format", "fmt", "--write", "--fix"}.intersection(words[1:4])
        return (
            CheckKind.FORMAT if "format" in is_format else CheckKind(_PROGRAMS[program])
        )
    if program not in _RUNNERS:
        is_script = "/" in words[0] and _SCRIPT.fullmatch(words[0])
        return _kind_of_name(program) if is_script else None
    operands = [word for word in words[1:] if word not in _FILLERS and not word.startswith("-")]  # fmt: skip
    for word in operands[:MAX_OPERANDS]:
        name = word.rpartition("/")[2]
        if name in _PROGRAMS:
            return CheckKind(_PROGRAMS[name])
        if kind := _kind_of_name(name):
            return kind
        if "/" in word or "." in word:
            break
    return CheckKind.RUN if words[1:2] == ["run"] else None


def _kind_of_name(name: str) -> CheckKind | None:
    parts = [part.lower() for part in _PART.findall(name)]
    for kind, pattern in _KINDS:
        if any(pattern.fullmatch(part) for part in parts):
            return kind
    return None


def _mask(words: Sequence[str]) -> Iterator[str]:
    """Yield the words with masks for names and text.

    What only says how loud, how long or how parallel is left out.
    """
    rest = iter(words[1:])
    yield words[0]
    is_module = words[0].startswith("python")  # of which `-m` names a program
    for word in rest:
        flag, equals, _ = word.partition("=")
        if word == "-m" and is_module:
            is_module = False
            yield word
        elif _NOISE.fullmatch(word):
            continue
        elif _NAMING.fullmatch(flag):
            if not equals:
                next(rest, "")
            yield f"{flag} {NAME}"
        elif _HOW.fullmatch(flag):
            if not equals:
                next(rest, "")
        elif any(char.isspace() for char in word):
            yield TEXT
        else:
            yield _OWN_TEST.split(word, maxsplit=1)[0] or NAME


def _mask_path(word: str) -> str:
    """Mask a path, also one that is the value of a flag; a flag with its name stays."""
    flag, equals, value = word.partition("=")
    if _IS_PATH.match(word):
        return PATH
    return f"{flag}={PATH}" if equals and _IS_PATH.match(value) else word


def _hide(word: str) -> str:
    """Mask a path of one machine."""
    _, equals, value = word.rpartition("=")
    is_own = (value if equals else word).startswith(("/", "~", "$"))
    return _mask_path(word) if is_own else word


def _quote(word: str) -> str:
    if word.endswith((NAME, TEXT, PATH)):
        return word
    needs_quotes = any(char.isspace() or char in "|&;<>()$" for char in word)
    return f"'{word}'" if needs_quotes else word
