"""Text files under `/memories`, each kept as a memory with its history.

The words of the answers and of the errors are those that Anthropic documents for its memory
tool (type `memory_20250818`), because models are trained on them.
"""

from __future__ import annotations

import posixpath
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from agent_memory import Client
from agent_memory.adapters.facts import NamedFacts
from agent_memory.shapes import MemoryOut, ScopeRequest

ROOT = "/memories"
LABEL = "memory_tool"
WORKSPACE: ScopeRequest = {"kind": "workspace"}
MAX_LINES = 999_999
NUMBER_WIDTH = len(str(MAX_LINES))
LISTED_LEVELS = 2
CONTEXT_LINES = 2  # shown before and after a replaced line
MISSING = "The path {} does not exist. Please provide a valid path."


class FileRefusal(ValueError):
    """The operation is not possible; the message tells the model why."""


@dataclass(frozen=True)
class Tree:
    """The files of a folder by their paths; a folder is there as long as it has a file."""

    rows: Mapping[str, MemoryOut]

    def has_folder(self, path: str) -> bool:
        return path == ROOT or any(self.below(path))

    def has(self, path: str) -> bool:
        return path in self.rows or self.has_folder(path)

    def below(self, path: str) -> list[str]:
        return [each for each in self.rows if each.startswith(f"{path}/")]

    def size(self, path: str) -> int:
        """Return the bytes of a file, or of all files of a folder."""
        paths = [path] if path in self.rows else self.below(path)
        return sum(self.rows[each]["metadata"][f"{LABEL}.bytes"] for each in paths)


class MemoryFiles:
    """The six operations of a memory tool on the files of one scope."""

    def __init__(self, client: Client, *, scope: ScopeRequest = WORKSPACE) -> None:
        self.client = client
        self.facts = NamedFacts(client, label=LABEL, scope=scope)

    def view(self, path: str, view_range: Sequence[int] | None = None) -> str:
        place = clean_path(path)
        if row := self.facts.find([place]).get(place):
            return _show_lines(path, row["value"], view_range)
        tree = self.read_tree()
        if not tree.has_folder(place):
            raise FileRefusal(MISSING.format(path))
        return _show_folder(tree, place)

    def create(self, path: str, text: str) -> str:
        place = clean_path(path)
        tree = self.read_tree()
        if tree.has(place):
            raise FileRefusal(f"File {path} already exists")
        _refuse_file_as_folder(tree, place)
        self._add(place, text)
        return f"File created successfully at: {path}"

    def str_replace(self, path: str, old: str, new: str) -> str:
        place, row = self._find_file(path)
        text: str = row["value"]
        count = text.count(old)
        if not count:
            raise FileRefusal(
                f"No replacement was performed, old_str `{old}` did not appear verbatim in "
                f"{path}."
            )
        if count > 1:
            lines = ", ".join(map(str, _lines_with(text, old)))
            raise FileRefusal(
                f"No replacement was performed. Multiple occurrences of old_str `{old}` in "
                f"lines: {lines}. Please ensure it is unique"
            )
        changed = text.replace(old, new)
        self._change(row, place, changed)
        first = max(0, text[: text.find(old)].count("\n") - CONTEXT_LINES)
        shown = changed.split("\n")[first : first + 2 * CONTEXT_LINES + 1]
        return (
            "The memory file has been edited. Here is the snippet showing the change (with "
            f"line numbers):\n{_number(shown, first + 1)}"
        )

    def insert(self, path: str, line: int, text: str) -> str:
        place, row = self._find_file(path)
        lines = row["value"].split("\n")
        if not lines[-1]:
            lines.pop()
        if not 0 <= line <= len(lines):
            raise FileRefusal(
                f"Invalid `insert_line` parameter: {line}. It should be within the range "
                f"[0, {len(lines)}]."
            )
        lines.insert(line, text.rstrip("\n"))
        changed = "\n".join(lines)
        self._change(row, place, changed if changed.endswith("\n") else f"{changed}\n")
        return f"The file {path} has been edited."

    def delete(self, path: str) -> str:
        place = clean_path(path)
        _refuse_root(place, "delete")
        tree = self.read_tree()
        if not tree.has(place):
            raise FileRefusal(f"The path {path} does not exist")
        for each in [place] if place in tree.rows else tree.below(place):
            self.client.memories_delete(tree.rows[each]["id"])
        return f"Successfully deleted {path}"

    def rename(self, old_path: str, new_path: str) -> str:
        """Move a file or a folder; the memory of the old path is superseded by the new."""
        old, new = clean_path(old_path), clean_path(new_path)
        _refuse_root(old, "rename")
        tree = self.read_tree()
        if not tree.has(old):
            raise FileRefusal(f"The path {old_path} does not exist")
        if tree.has(new):
            raise FileRefusal(f"The destination {new_path} already exists")
        _refuse_file_as_folder(tree, new)
        if new.startswith(f"{old}/"):
            raise FileRefusal(f"{new_path} is inside of {old_path}")
        for each in [old] if old in tree.rows else tree.below(old):
            row = self.client.memories_read(tree.rows[each]["id"])
            by = self._add(new + each.removeprefix(old), row["value"])
            self.client.memories_supersede(row["id"], by=by)
        return f"Successfully renamed {old_path} to {new_path}"

    def clear(self) -> str:
        for row in list(self.facts.list(fields=["id"])):
            self.client.memories_delete(row["id"])
        return "All memory cleared"

    def read_tree(self) -> Tree:
        rows = self.facts.list(fields=["id", "title", "metadata"])
        return Tree({row["title"]: row for row in rows})

    def _find_file(self, path: str) -> tuple[str, MemoryOut]:
        place = clean_path(path)
        if row := self.facts.find([place]).get(place):
            return place, row
        if self.read_tree().has_folder(place):
            raise FileRefusal(f"The path {path} is not a file.")
        raise FileRefusal(MISSING.format(path))

    def _add(self, place: str, text: str) -> str:
        return self.facts.add(place, **_fields_of(place, text))

    def _change(self, row: MemoryOut, place: str, text: str) -> None:
        fields = _fields_of(place, text)
        if not self.facts.change(row, place, version=row["version"], **fields):
            raise FileRefusal(MISSING.format(place))


def clean_path(path: str) -> str:
    """Return a path without `.`, `..` and doubled slashes; refuse one outside of the root."""
    if path != ROOT and not path.startswith(f"{ROOT}/"):
        raise FileRefusal(f"Path must start with {ROOT}, got: {path}")
    place = posixpath.normpath(path)
    if place != ROOT and not place.startswith(f"{ROOT}/"):
        raise FileRefusal(f"Path {path} would escape {ROOT} directory")
    return place


def _refuse_root(place: str, deed: str) -> None:
    if place == ROOT:
        raise FileRefusal(f"Cannot {deed} the {ROOT} directory itself")


def _refuse_file_as_folder(tree: Tree, place: str) -> None:
    while (place := posixpath.dirname(place)) != ROOT:
        if place in tree.rows:
            raise FileRefusal(f"The path {place} is a file, not a directory.")


def _fields_of(place: str, text: str) -> dict[str, object]:
    return {
        "title": place,
        "value": text,
        "content": text,
        "metadata": {f"{LABEL}.bytes": len(text.encode())},
    }


def _lines_with(text: str, part: str) -> list[int]:
    """Return the number of the line of each occurrence, of overlapping ones too."""
    lines, line, seen = [], 1, 0
    place = text.find(part)
    while place >= 0:
        line += text.count("\n", seen, place)
        seen = place
        lines.append(line)
        place = text.find(part, place + 1)
    return lines


def _show_lines(path: str, text: str, view_range: Sequence[int] | None) -> str:
    lines = text.split("\n")
    if len(lines) > MAX_LINES:
        raise FileRefusal(
            f"File {path} exceeds maximum line limit of {MAX_LINES:,} lines."
        )
    first, last = view_range if view_range and len(view_range) == 2 else (1, -1)
    first = max(1, first)
    shown = lines[first - 1 : len(lines) if last == -1 else last]
    return f"Here's the content of {path} with line numbers:\n{_number(shown, first)}"


def _number(lines: Sequence[str], first: int) -> str:
    numbered = enumerate(lines, start=first)
    return "\n".join(f"{number:>{NUMBER_WIDTH}}\t{line}" for number, line in numbered)


def _show_folder(tree: Tree, place: str) -> str:
    shown = [place, *sorted(_list_paths(tree, place))]
    lines = [f"{format_size(tree.size(each.rstrip('/')))}\t{each}" for each in shown]
    header = (
        f"Here're the files and directories up to {LISTED_LEVELS} levels deep in {place}, "
        "excluding hidden items:"
    )
    return "\n".join([header, *lines])


def _list_paths(tree: Tree, place: str) -> set[str]:
    """Return the files below a folder, and the folders with a slash at the end."""
    listed = set()
    for path in tree.below(place):
        names = path.removeprefix(f"{place}/").split("/")
        for level in range(1, min(len(names), LISTED_LEVELS) + 1):
            if names[level - 1].startswith("."):
                break
            end = "" if level == len(names) else "/"
            listed.add(f"{place}/{'/'.join(names[:level])}{end}")
    return listed


def format_size(count: int) -> str:
    """Return a number of bytes as `ls -h` writes it, such as `1.5K`."""
    unit = min(max(count.bit_length() - 1, 0) // 10, 3)
    size = count / 1024**unit
    return (
        f"{size:.0f}{'BKMG'[unit]}"
        if size == int(size)
        else f"{size:.1f}{'BKMG'[unit]}"
    )
