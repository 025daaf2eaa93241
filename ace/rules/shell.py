"""What a shell command did to which files, as far as its words tell."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ace.rules import commands, patches, paths, programs
from ace.rules.commands import Simple
from ace.rules.paths import FileLink, Relation

_CHECK = re.compile(
    r"\b(?:pytest|tox|nox|unittest|jest|vitest|mocha|rspec|phpunit|ctest|ruff|flake8"
    r"|mypy|pyright|pylint|eslint|tsc|shellcheck|clippy|rubocop|golangci-lint"
    r"|(?:go|cargo|dotnet|swift|bazel|mvn|gradle|gradlew|sbt|mix|stack)"
    r"[ ]{1,3}(?:test|check|build|vet|verify|compile)"
    r"|(?:npm|yarn|pnpm|bun|make|just|rake|deno)[ ]{1,3}(?:run[ ]{1,3})?"
    r"(?:test|check|lint|build|typecheck|verify|ci)\w{0,20}"
    r"|manage\.py[ ]{1,3}(?:test|check))\b"
)
_LINE_RANGE = re.compile(r"(\d{1,7})(?:,(\d{1,7}))?p")


def links(text: str) -> list[FileLink]:
    """The files a command names, each with what the command does to it."""
    patch = patches.applied(text)
    if patch:
        return patch
    found: list[FileLink] = []
    folder = ""
    for simple in commands.parse(text):
        if simple.program == "cd":
            folder = _entered(folder, simple.operands)
            continue
        found += [_inside(folder, link) for link in _links(simple)]
    return found


def is_check(text: str) -> bool:
    """Whether the command tests, lints, type-checks or builds."""
    return bool(_CHECK.search(text[: commands.MAX_COMMAND]))


def only_reads(text: str) -> bool:
    """Whether every program only looks: its output is content, not a report."""
    parsed = commands.parse(text)
    return bool(parsed) and all(_only_reads(simple) for simple in parsed)


def targets(text: str) -> frozenset[str]:
    """The operands a check was narrowed to, such as `tests/test_login.py`."""
    words = [word for simple in commands.parse(text) for word in simple.operands]
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
