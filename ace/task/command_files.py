"""Find the files in a shell command, and what the command does to each."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ace.task import command_files, file_paths, patches, shell
from ace.task.file_paths import PathLink, Relation
from ace.task.shell import SimpleCommand, edits_in_place

_LINE_RANGE = re.compile(r"(\d{1,7})(?:,(\d{1,7}))?p")


def find_links(text: str) -> list[PathLink]:
    """Return the files that a command names, and what the command does to each."""
    patch = patches.parse_apply_patch(text)
    if patch:
        return patch
    found: list[PathLink] = []
    folder = ""
    for simple in shell.parse(text):
        if simple.program == "cd":
            folder = _enter_folder(folder, simple.operands)
            continue
        found += [_in_folder(folder, link) for link in _links(simple)]
    return found


def _enter_folder(folder: str, operands: tuple[str, ...]) -> str:
    """Return the folder after `cd`.

    It is empty for an absolute folder: the paths after that `cd` stay as they were typed.
    """
    target = operands[0].rstrip("/") if operands else ""
    if not target or target.startswith(("/", "~", "$", "-")) or ".." in target:
        return ""
    return f"{folder}/{target}" if folder else target


def _in_folder(folder: str, link: PathLink) -> PathLink:
    if not folder or link.path.startswith(("/", "~")):
        return link
    path = file_paths.normalise(f"{folder}/{link.path}", explicit=True) or link.path
    return PathLink(path, link.relation, link.line_start, link.line_end)


def _links(simple: SimpleCommand) -> list[PathLink]:
    written = [
        *_to_links(simple.writes, "created", explicit=True),
        *_to_links(simple.appends, "modified", explicit=True),
        *_to_links(simple.reads, "read", explicit=True),
    ]
    return written + _links_of_program(simple)


def _links_of_program(simple: SimpleCommand) -> list[PathLink]:
    program, operands = simple.program, simple.operands
    if program == "git":
        return _links_of_git(operands)
    if program in shell.MOVERS:
        return _moved_files(operands)
    if program in shell.COPIERS:
        return [
            *_to_links(operands[:-1], "read"),
            *_to_links(operands[-1:], "created"),
        ]
    if program == "sed" and not edits_in_place(simple):
        return _printed_lines(operands)
    if program in shell.NAME_SEARCHERS:
        return []
    if program in shell.FIRST_IS_PATTERN:
        operands = operands[1:]
    if program == "open":
        return _opened_file(operands)
    if simple.words and "/" in simple.words[0]:
        operands = (simple.words[0], *operands)
    return _to_links(operands, _relation(simple))


def _relation(simple: SimpleCommand) -> Relation:
    program = simple.program
    if program in shell.DELETERS:
        return "deleted"
    if program in shell.CREATORS:
        return "created"
    if program in shell.MODIFIERS or edits_in_place(simple):
        return "modified"
    if program in shell.READERS or program in {"grep", "egrep", "fgrep"}:
        return "read"
    return "referenced"


def _links_of_git(operands: tuple[str, ...]) -> list[PathLink]:
    if not operands:
        return []
    verb, rest = operands[0], operands[1:]
    if verb == "mv":
        return _moved_files(rest)
    return _to_links(rest, command_files.GIT_RELATIONS.get(verb, "referenced"))


def _moved_files(operands: tuple[str, ...]) -> list[PathLink]:
    return [*_to_links(operands[:-1], "deleted"), *_to_links(operands[-1:], "created")]


def _opened_file(operands: tuple[str, ...]) -> list[PathLink]:
    line = next((int(word) for word in operands[1:] if word.isdecimal()), None)
    path = file_paths.normalise(operands[0], explicit=True) if operands else None
    return [PathLink(path, "read", line)] if path else []


def _printed_lines(operands: tuple[str, ...]) -> list[PathLink]:
    """Return the files of `sed -n 10,25p file` with the lines that it prints."""
    found = _LINE_RANGE.fullmatch(operands[0]) if operands else None
    start = int(found[1]) if found else None
    end = int(found[2]) if found and found[2] else start
    return [
        PathLink(link.path, "read", start, end)
        for link in _to_links(operands[1:], "read")
    ]


def _to_links(
    texts: Sequence[str], relation: Relation, *, explicit: bool = False
) -> list[PathLink]:
    found = []
    for text in texts:
        name, line = file_paths.with_line(text.partition("::")[0])
        # A quoted word with a space is a file for `cat`, but a message for `git commit`.
        spaced = " " in name and relation != "referenced"
        path = file_paths.normalise(name, explicit=explicit or spaced)
        if path:
            found.append(PathLink(path, relation, line, line))
    return found


GIT_RELATIONS: dict[str, Relation] = {
    "rm": "deleted",
    "checkout": "modified",
    "restore": "modified",
    "apply": "referenced",
    "diff": "read",
    "show": "read",
    "blame": "read",
    "log": "referenced",
    "add": "referenced",
}
