"""Split a shell command line into its simple commands, and say what they do."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from ace.task import word_tables

# What common programs do with the files that they are given.
_ROLES = word_tables.read_groups("programs")

READERS = _ROLES["reader"]
SEARCHERS = _ROLES["searcher"]
# The operands of these programs are patterns and folders, never a file that was read.
NAME_SEARCHERS = _ROLES["name_searcher"]
FIRST_IS_PATTERN = _ROLES["pattern_first"]
NEUTRAL = _ROLES["neutral"]
MODIFIERS = _ROLES["modifier"]
CREATORS = _ROLES["creator"]
DELETERS = _ROLES["deleter"]
MOVERS = _ROLES["mover"]
COPIERS = _ROLES["copier"]
WRAPPERS = _ROLES["wrapper"]
SHELLS = _ROLES["shell"]
IN_PLACE: dict[str, tuple[str, ...]] = {
    "sed": ("-i", "--in-place"),
    "perl": ("-i", "-pi"),
    "gofmt": ("-w",),
    "prettier": ("--write", "-w"),
    "eslint": ("--fix",),
    "ruff": ("--fix", "format"),
    "autopep8": ("-i", "--in-place"),
    "rustfmt": ("",),
}
GIT_READS = frozenset({"diff", "show", "blame", "log", "status", "grep", "ls-files"})

# In characters. A longer command contains file content. Its programs are at the start.
MAX_COMMAND = 20_000

_HEREDOC = re.compile(r"<<-?[ \t]{0,4}(['\"]?)(\w{1,40})\1")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w{0,60}=")
_LEXEME = re.compile(
    r"(?P<space>[ \t\r]++|\\\r?\n)|(?P<operator>[;&|<>()\n]++)"
    r"|(?P<quoted>'[^']*+'|\"(?>(?:[^\"\\]+|\\.)*)\")|(?P<escaped>\\.)"
    r"|(?P<plain>[^\s'\"\\;&|<>()]++)|(?P<other>.)",
    re.DOTALL,
)
_SEPARATOR = re.compile(
    r"'[^']*+'|\"(?:[^\"\\]++|\\.)*+\"|\\.|[<>]&|&>|(?P<end>\|\||&&|\|&?|[;&\n])",
    re.DOTALL,
)
_QUOTED = re.compile(r"\\([\"\\$`])")


@dataclass(frozen=True)
class _Token:
    text: str
    operator: bool = False


@dataclass(frozen=True)
class SimpleCommand:
    """One program with its arguments, and the files of its redirections.

    `prefix` has the assignments and the wrappers before the program. `is_piped` says that
    the program reads the output of another one.
    """

    words: tuple[str, ...]
    writes: tuple[str, ...] = ()
    appends: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()
    prefix: tuple[str, ...] = ()
    is_piped: bool = False

    @property
    def program(self) -> str:
        return self.words[0].rpartition("/")[2] if self.words else ""

    @property
    def operands(self) -> tuple[str, ...]:
        return tuple(word for word in self.words[1:] if not word.startswith("-"))

    @property
    def assignments(self) -> tuple[str, ...]:
        """The variables before the program, as `NAME=value`."""
        return tuple(word for word in self.prefix if _ASSIGNMENT.match(word))


def join(argv: Sequence[str]) -> str:
    """Join a list of arguments into a command line. `bash -lc X` becomes X."""
    if len(argv) > 2 and argv[0].rpartition("/")[2] in SHELLS and "c" in argv[1]:
        return argv[2]
    if len(argv) == 2 and argv[0] == "apply_patch":
        return "\n".join(argv)
    return shlex.join(argv)


def find_deciding(text: str) -> str:
    """Return the commands of a line of which each one's failure is the failure of the line.

    Of `make a; make b && make c | tail` this is `make b`.
    """
    parts, piped, at = [], False, 0
    text = text[:MAX_COMMAND].rstrip("; \t\r\n")
    for match in _SEPARATOR.finditer(text):
        end = match["end"]
        if not end:
            continue
        piped = piped or end in ("|", "|&")
        if end == "||":
            return ""
        if end in ("&&", ";", "&", "\n"):
            parts += [] if piped else [text[at : match.start()]]
            parts, piped = (parts if end == "&&" else []), False
            at = match.end()
    last = text[at:]
    return " && ".join(parts if piped or not last.strip() else [*parts, last])


def parse(text: str) -> tuple[SimpleCommand, ...]:
    """Split a command line into simple commands, in order."""
    return _parse(text[:MAX_COMMAND])


# The cache helps because each command of a task is parsed several times.
@lru_cache(maxsize=512)
def _parse(text: str, depth: int = 0) -> tuple[SimpleCommand, ...]:
    commands: list[SimpleCommand] = []
    for tokens, is_piped in _split(_tokens(_drop_heredocs(text))):
        simple = replace(_unwrap(_build_simple(tokens)), is_piped=is_piped)
        inner = simple.program in SHELLS and len(simple.words) > 2
        if inner and depth < 2 and simple.words[1].startswith("-"):
            commands += _parse(simple.words[2], depth + 1)
        elif simple.words or simple.writes or simple.appends:
            commands.append(simple)
    return tuple(commands)


def _drop_heredocs(text: str) -> str:
    """Drop the bodies of here-documents, because they are content and not commands."""
    kept, end = [], ""
    for line in text.split("\n"):
        if end:
            end = "" if line.strip() == end else end
            continue
        kept.append(_HEREDOC.sub(" ", line))
        if found := _HEREDOC.search(line):
            end = found[2]
    return "\n".join(kept)


def _tokens(text: str) -> Iterator[_Token]:
    """Split a command line as a shell does. An unclosed quote is an ordinary character."""
    first = text.lstrip().split("\n", 1)[0]
    if first.split(" ", 1)[0] in {"edit", "insert"}:
        # In SWE-agent, the lines after the first line are the new text of the file.
        text = first
    word, started = "", False
    for match in _LEXEME.finditer(text):
        kind, value = match.lastgroup, match[0]
        if kind in ("space", "operator"):
            if started:
                yield _Token(word)
            word, started = "", False
            if kind == "operator":
                yield _Token(value, operator=True)
        else:
            word += (
                _QUOTED.sub(r"\1", value[1:-1])
                if kind == "quoted"
                else (value[1:] if kind == "escaped" else value)
            )
            started = True
    if started:
        yield _Token(word)


def _split(tokens: Iterable[_Token]) -> Iterator[tuple[list[_Token], bool]]:
    """Yield the tokens of each simple command, and whether a pipe stands before them."""
    part: list[_Token] = []
    is_piped = False
    for token in tokens:
        if token.operator and not set(token.text) & set("<>"):
            yield part, is_piped
            part, is_piped = [], token.text.strip() in ("|", "|&")
        else:
            part.append(token)
    yield part, is_piped


def _build_simple(tokens: list[_Token]) -> SimpleCommand:
    words: list[str] = []
    files: dict[str, list[str]] = {">": [], ">>": [], "<": []}
    redirect = ""
    for token in tokens:
        if token.operator:
            redirect = token.text
        elif redirect:
            files.get(redirect.strip("&|\n"), []).append(token.text)
            redirect = ""
        else:
            words.append(token.text)
    return SimpleCommand(
        tuple(words), tuple(files[">"]), tuple(files[">>"]), tuple(files["<"])
    )


def _unwrap(simple: SimpleCommand) -> SimpleCommand:
    words = simple.words
    while words and (
        words[0] in WRAPPERS
        or _ASSIGNMENT.match(words[0])
        or (len(words) < len(simple.words) and _is_wrapper_argument(words[0]))
    ):
        words = words[1:]
    prefix = simple.words[: len(simple.words) - len(words)]
    return replace(simple, words=words, prefix=prefix)


def _is_wrapper_argument(word: str) -> bool:
    return word.startswith("-") or word == "run" or word.rstrip("smh").isdecimal()


_CHECK = re.compile(
    r"\b(?:pytest|tox|nox|unittest|jest|vitest|mocha|rspec|phpunit|ctest|ruff|flake8"
    r"|mypy|pyright|pylint|eslint|tsc|shellcheck|clippy|rubocop|golangci-lint"
    r"|(?:go|cargo|dotnet|swift|bazel|mvn|gradle|gradlew|sbt|mix|stack)"
    r"[ ]{1,3}(?:test|check|build|vet|verify|compile)"
    r"|(?:npm|yarn|pnpm|bun|make|just|rake|deno)[ ]{1,3}(?:run[ ]{1,3})?"
    r"(?:test|check|lint|build|typecheck|verify|ci)\w{0,20}"
    r"|manage\.py[ ]{1,3}(?:test|check))\b"
)

_RUNNER_TASK = re.compile(
    r"(?:mise run|mise r|make|just|task|rake|invoke|poe|hatch run|tox -e|nox -s|deno task"
    r"|composer|(?:npm|yarn|pnpm|bun)(?: run)?|\./gradlew|mix|cargo make|cargo xtask) "
    r"(?P<task>[A-Za-z][\w:.-]{1,40})(?= |$)"
)
_CHECK_TASK = re.compile(
    r"(?:^|[:._-])(?:test|lint|check|fmt|format|typecheck|types?|verify|ci|build|e2e"
    r"|integration|vet|pre-?commit)(?:$|[:._-])",
    re.IGNORECASE,
)
# Every agent tests and builds before it finishes.
_PLAIN_TASKS = frozenset({"test", "tests", "build"})
# A flag with a value that widens a check or chooses its kind. Others may narrow it.
_GIVEN_FLAG = re.compile(
    r"[a-z][\w.-]{1,30}(?: [a-z][\w-]{1,20}){0,2} "
    r"--?(?:tags|features|config|profile|settings|env|mode|all[\w-]{0,20})=[\w./,-]{1,40}(?= |$)"
)


def is_check(text: str) -> bool:
    """Return whether the command tests, lints, type-checks or builds."""
    return bool(_CHECK.search(text[:MAX_COMMAND]))


def only_reads(text: str) -> bool:
    """Return whether every program only reads. The output is then content, not a report."""
    parsed = parse(text)
    return bool(parsed) and all(_only_reads(simple) for simple in parsed)


def project_check(text: str) -> str:
    """Return the one check in a command that the project itself defines, or "".

    It is the task of a runner (`make lint`, `npm run test:e2e`) or a test program with a flag
    that nobody guesses (`go test -tags=integration`). A command with several checks, or with
    other programs than such that only read, does not say which one failed.
    """
    found = []
    for simple in parse(text):
        if check := _project_check(simple):
            found.append(check)
        elif not _only_reads(simple):
            return ""
    is_plain = found and found[0].rpartition(" ")[2] in _PLAIN_TASKS
    return found[0] if len(found) == 1 and not is_plain else ""


def _project_check(simple: SimpleCommand) -> str:
    words = " ".join(simple.words)
    task = _RUNNER_TASK.match(words)
    if task and _CHECK_TASK.search(task["task"]):
        return task[0]
    if is_check(words) and (flag := _GIVEN_FLAG.match(words)):
        return flag[0]
    return ""


def targets(text: str) -> frozenset[str]:
    """Return the operands that narrow a check, such as `tests/test_login.py`."""
    words = [word for simple in parse(text) for word in simple.operands]
    return frozenset(word for word in words if "/" in word or "." in word)


def _only_reads(simple: SimpleCommand) -> bool:
    if simple.writes or simple.appends:
        return False
    program = simple.program
    if program == "git":
        return bool(GIT_READS.intersection(simple.words[1:3]))
    if program == "sed":
        return not edits_in_place(simple)
    return program in READERS | SEARCHERS | NEUTRAL


def edits_in_place(simple: SimpleCommand) -> bool:
    flags = IN_PLACE.get(simple.program, ())
    return any(
        word in flags or (word.startswith("-i") and "-i" in flags)
        for word in simple.words[1:]
    )
