"""What a shell command did to which files, as far as its words tell."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from ace.rules import patches, paths, programs
from ace.rules.paths import FileLink, Relation

# Longer commands carry their content in them; what they do stands at the start.
MAX_COMMAND = 20_000

_CHECK = re.compile(
    r"\b(?:pytest|tox|nox|unittest|jest|vitest|mocha|rspec|phpunit|ctest|ruff|flake8"
    r"|mypy|pyright|pylint|eslint|tsc|shellcheck|clippy|rubocop|golangci-lint"
    r"|(?:go|cargo|dotnet|swift|bazel|mvn|gradle|gradlew|sbt|mix|stack)"
    r"[ ]{1,3}(?:test|check|build|vet|verify|compile)"
    r"|(?:npm|yarn|pnpm|bun|make|just|rake|deno)[ ]{1,3}(?:run[ ]{1,3})?"
    r"(?:test|check|lint|build|typecheck|verify|ci)\w{0,20}"
    r"|manage\.py[ ]{1,3}(?:test|check))\b"
)
_HEREDOC = re.compile(r"<<-?[ \t]{0,4}(['\"]?)(\w{1,40})\1")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w{0,60}=")
_LINE_RANGE = re.compile(r"(\d{1,7})(?:,(\d{1,7}))?p")
_LEXEME = re.compile(
    r"(?P<space>[ \t\r]++|\\\r?\n)|(?P<operator>[;&|<>()\n]++)"
    r"|(?P<quoted>'[^']*+'|\"(?:[^\"\\]++|\\.)*+\")|(?P<escaped>\\.)"
    r"|(?P<plain>[^\s'\"\\;&|<>()]++)|(?P<other>.)",
    re.DOTALL,
)
_QUOTED = re.compile(r"\\([\"\\$`])")


@dataclass(frozen=True)
class _Token:
    text: str
    operator: bool = False


@dataclass(frozen=True)
class Simple:
    """One program with its arguments and the files its output is sent to."""

    words: tuple[str, ...]
    writes: tuple[str, ...] = ()
    appends: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()

    @property
    def program(self) -> str:
        return self.words[0].rpartition("/")[2] if self.words else ""

    @property
    def operands(self) -> tuple[str, ...]:
        return tuple(word for word in self.words[1:] if not word.startswith("-"))


def joined(argv: Sequence[str]) -> str:
    """Write an argument list as the command it is; `bash -lc X` is X."""
    if (
        len(argv) > 2
        and argv[0].rpartition("/")[2] in programs.SHELLS
        and "c" in argv[1]
    ):
        return argv[2]
    if len(argv) == 2 and argv[0] == "apply_patch":
        return "\n".join(argv)
    return shlex.join(argv)


def parse(text: str) -> tuple[Simple, ...]:
    """Split a command line into simple commands, in order."""
    return _parsed(text[:MAX_COMMAND])


# A task asks the same of each of its commands several times.
@lru_cache(maxsize=512)
def _parsed(text: str, depth: int = 0) -> tuple[Simple, ...]:
    commands: list[Simple] = []
    for tokens in _split(_tokens(_without_heredocs(text))):
        simple = _unwrapped(_simple(tokens))
        inner = simple.program in programs.SHELLS and len(simple.words) > 2
        if inner and depth < 2 and simple.words[1].startswith("-"):
            commands += _parsed(simple.words[2], depth + 1)
        elif simple.words or simple.writes or simple.appends:
            commands.append(simple)
    return tuple(commands)


def links(text: str) -> list[FileLink]:
    """The files a command names, each with what the command does to it."""
    patch = patches.applied(text)
    if patch:
        return patch
    found: list[FileLink] = []
    folder = ""
    for simple in parse(text):
        if simple.program == "cd":
            folder = _entered(folder, simple.operands)
            continue
        found += [_inside(folder, link) for link in _links(simple)]
    return found


def is_check(text: str) -> bool:
    """Whether the command tests, lints, type-checks or builds."""
    return bool(_CHECK.search(text[:MAX_COMMAND]))


def only_reads(text: str) -> bool:
    """Whether every program only looks: its output is content, not a report."""
    commands = parse(text)
    return bool(commands) and all(_only_reads(simple) for simple in commands)


def targets(text: str) -> frozenset[str]:
    """The operands a check was narrowed to, such as `tests/test_login.py`."""
    words = [word for simple in parse(text) for word in simple.operands]
    return frozenset(word for word in words if "/" in word or "." in word)


def _only_reads(simple: Simple) -> bool:
    if simple.writes or simple.appends:
        return False
    program = simple.program
    if program == "git":
        return bool(programs.GIT_READS.intersection(simple.words[1:3]))
    if program == "sed":
        return not _edits_in_place(simple)
    return program in programs.READERS | programs.SEARCHERS | programs.NEUTRAL


def _without_heredocs(text: str) -> str:
    """Drop the bodies of here-documents: they are content, not commands."""
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
    """Split as a shell does; a quote that never closes is a character."""
    first = text.lstrip().split("\n", 1)[0]
    if first.split(" ", 1)[0] in {"edit", "insert"}:
        # SWE-agent: what follows the first line is the file's new text.
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


def _split(tokens: Iterable[_Token]) -> Iterator[list[_Token]]:
    part: list[_Token] = []
    for token in tokens:
        if token.operator and not set(token.text) & set("<>"):
            yield part
            part = []
        else:
            part.append(token)
    yield part


def _simple(tokens: list[_Token]) -> Simple:
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
    return Simple(
        tuple(words), tuple(files[">"]), tuple(files[">>"]), tuple(files["<"])
    )


def _unwrapped(simple: Simple) -> Simple:
    words = simple.words
    while words and (
        words[0] in programs.WRAPPERS
        or _ASSIGNMENT.match(words[0])
        or (len(words) < len(simple.words) and _is_wrapper_argument(words[0]))
    ):
        words = words[1:]
    return Simple(words, simple.writes, simple.appends, simple.reads)


def _is_wrapper_argument(word: str) -> bool:
    return word.startswith("-") or word == "run" or word.rstrip("smh").isdecimal()


def _entered(folder: str, operands: tuple[str, ...]) -> str:
    """Follow `cd`: below an absolute folder paths stay as typed."""
    target = operands[0].rstrip("/") if operands else ""
    if not target or target.startswith(("/", "~", "$", "-")) or ".." in target:
        return ""
    return f"{folder}/{target}" if folder else target


def _inside(folder: str, link: FileLink) -> FileLink:
    if not folder or link.path.startswith(("/", "~")):
        return link
    path = paths.normalise(f"{folder}/{link.path}", explicit=True) or link.path
    return FileLink(path, link.relation, link.line_start, link.line_end)


def _links(simple: Simple) -> list[FileLink]:
    written = [
        *_linked(simple.writes, "created", explicit=True),
        *_linked(simple.appends, "modified", explicit=True),
        *_linked(simple.reads, "read", explicit=True),
    ]
    return written + _links_of_program(simple)


def _links_of_program(simple: Simple) -> list[FileLink]:
    program, operands = simple.program, simple.operands
    if program == "git":
        return _links_of_git(operands)
    if program in programs.MOVERS:
        return _moved(operands)
    if program in programs.COPIERS:
        return [
            *_linked(operands[:-1], "read"),
            *_linked(operands[-1:], "created"),
        ]
    if program == "sed" and not _edits_in_place(simple):
        return _paged(operands)
    if program in programs.NAME_SEARCHERS:
        return []
    if program in programs.FIRST_IS_PATTERN:
        operands = operands[1:]
    if program == "open":
        return _opened(operands)
    if simple.words and "/" in simple.words[0]:
        operands = (simple.words[0], *operands)
    return _linked(operands, _relation(simple))


def _relation(simple: Simple) -> Relation:
    program = simple.program
    if program in programs.DELETERS:
        return "deleted"
    if program in programs.CREATORS:
        return "created"
    if program in programs.MODIFIERS or _edits_in_place(simple):
        return "modified"
    if program in programs.READERS or program in {"grep", "egrep", "fgrep"}:
        return "read"
    return "referenced"


def _edits_in_place(simple: Simple) -> bool:
    flags = programs.IN_PLACE.get(simple.program, ())
    return any(
        word in flags or (word.startswith("-i") and "-i" in flags)
        for word in simple.words[1:]
    )


def _links_of_git(operands: tuple[str, ...]) -> list[FileLink]:
    if not operands:
        return []
    verb, rest = operands[0], operands[1:]
    if verb == "mv":
        return _moved(rest)
    return _linked(rest, programs.GIT.get(verb, "referenced"))


def _moved(operands: tuple[str, ...]) -> list[FileLink]:
    return [*_linked(operands[:-1], "deleted"), *_linked(operands[-1:], "created")]


def _opened(operands: tuple[str, ...]) -> list[FileLink]:
    line = next((int(word) for word in operands[1:] if word.isdecimal()), None)
    path = paths.normalise(operands[0], explicit=True) if operands else None
    return [FileLink(path, "read", line)] if path else []


def _paged(operands: tuple[str, ...]) -> list[FileLink]:
    """`sed -n 10,25p file`: the lines that were printed."""
    found = _LINE_RANGE.fullmatch(operands[0]) if operands else None
    start = int(found[1]) if found else None
    end = int(found[2]) if found and found[2] else start
    return [
        FileLink(link.path, "read", start, end)
        for link in _linked(operands[1:], "read")
    ]


def _linked(
    texts: Sequence[str], relation: Relation, *, explicit: bool = False
) -> list[FileLink]:
    found = []
    for text in texts:
        name, line = paths.with_line(text.partition("::")[0])
        # A quoted name with a space is a file to `cat`, a message to `git commit`.
        spaced = " " in name and relation != "referenced"
        path = paths.normalise(name, explicit=explicit or spaced)
        if path:
            found.append(FileLink(path, relation, line, line))
    return found
