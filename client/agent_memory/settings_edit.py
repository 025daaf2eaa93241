"""Plan what a harness's files become, show the difference, write it, and take it out again."""

from __future__ import annotations

import difflib
import json
import os
import shutil
import stat
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from agent_memory import jsonc, toml_table
from agent_memory.connections import Change, Connections, NotPossible
from agent_memory.harnesses import CodingAgent, Entry, Program, SettingsFile
from agent_memory.own_command import spell
from agent_memory.places import Machine
from agent_memory.scriptless import ProjectAddress

PRIVATE = 0o600


@dataclass(frozen=True)
class FileEdit:
    """A file before and after; None is no file. `content` names what of ours is in it."""

    path: Path
    before: str | None
    after: str | None
    change: Change | None = None
    content: str = ""

    @property
    def changes_something(self) -> bool:
        return self.before != self.after

    @property
    def difference(self) -> str:
        old = (self.before or "").splitlines(keepends=True)
        new = (self.after or "").splitlines(keepends=True)
        name = str(self.path)
        lines = difflib.unified_diff(old, new, name, name, n=2)
        return "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)


@dataclass(frozen=True)
class Target:
    """The work tree that is connected on a machine, by a program."""

    machine: Machine
    root: Path
    repository: str
    program: Program


def plan(harness: CodingAgent, target: Target, known: Connections) -> list[FileEdit]:
    """Return the edits that connect a harness, also those that change nothing."""
    mcp_entry = harness.mcp_entry(target.program)
    hooks = harness.hook_entries(target.program)
    entries: dict[Path, list[Entry]] = {}
    entries.setdefault(_path(harness.mcp_file, target), []).append(mcp_entry)
    hook_path = _path(harness.hook_file, target)
    edits = []
    if harness.hook_file.is_ours:
        text = harness.own_file(target.program)
        change = Change(harness.name, str(hook_path), (), is_new=True)
        content = describe_entries(hooks)
        edits.append(FileEdit(hook_path, read_text(hook_path), text, change, content))
    else:
        entries.setdefault(hook_path, []).extend(hooks)
    edits += [
        _edit_file(harness, path, e, target, known) for path, e in entries.items()
    ]
    return edits


def _path(file: SettingsFile, target: Target) -> Path:
    return file.path(target.machine, target.root)


def read_text(path: Path) -> str | None:
    """Read a file with its own ends of lines; None if there is none."""
    try:
        with path.open(encoding="utf-8", newline="") as stream:
            return stream.read()
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise NotPossible(
            f"{path} cannot be read: {error}. Nothing was changed."
        ) from error


def _edit_file(
    harness: CodingAgent,
    path: Path,
    entries: list[Entry],
    target: Target,
    known: Connections,
) -> FileEdit:
    before = read_text(path)
    change = known.change_of(path)
    try:
        text = remove_from(before or "", path, change, entries, target.program)
        text, snippets = insert_into(text, path, harness, entries)
        _require_readable(path, before or "", text)
    except (jsonc.NotJson, toml_table.NotToml) as error:
        raise NotPossible(
            f"{path} was not understood: {error}. Mend it, or add what "
            f"{spell(f'connect --print {harness.name}')} prints by hand."
        ) from error
    content = describe_entries(entries)
    if before and change and _is_in_place(before, change, snippets):
        return FileEdit(path, before, before, change, content)
    is_new = change.is_new if change else before is None
    in_project = harness.mcp_file.in_project and path == _path(harness.mcp_file, target)
    repository = target.repository if in_project else ""
    new = Change(harness.name, str(path), tuple(snippets), is_new, repository)
    return FileEdit(path, before, text, new, content)


def insert_into(
    text: str, path: Path, harness: CodingAgent, entries: list[Entry]
) -> tuple[str, list[str]]:
    """Return the text with the entries, and the pieces that were put in, in their order."""
    snippets = []
    if path.suffix == ".toml":
        for entry in entries:
            edit = toml_table.put(text, entry.keys, entry.value)
            text = edit.text
            snippets.append(edit.snippet)
        return text, snippets
    if not text.strip():
        first = empty_settings(harness, entries)
        text += first
        snippets.append(first)
    # Each is put before the others, so the last one comes first.
    for entry in reversed(entries):
        edit = jsonc.put(text, entry.keys, entry.value, is_element=entry.is_element)
        text = edit.text
        snippets.append(edit.snippet)
    return text, snippets


def empty_settings(harness: CodingAgent, entries: Sequence[Entry]) -> str:
    has_hooks = any(entry.keys[0] == "hooks" for entry in entries)
    return json.dumps(dict(harness.hook_head) if has_hooks else {}) + "\n"


def _is_in_place(text: str, change: Change, snippets: list[str]) -> bool:
    """Whether the entries are there already, if perhaps no longer at the end of the file."""
    ours = [snippet.strip(" \t\r\n,") for snippet in snippets]
    old = [snippet.strip(" \t\r\n,") for snippet in change.snippets]
    return ours == old and all(text.count(piece) == 1 for piece in ours)


def remove_from(
    text: str,
    path: Path,
    change: Change | None,
    entries: list[Entry],
    program: Program,
) -> str:
    """Take our entries out: the exact pieces, or what is like them if those are gone."""
    left = _remove_pieces(text, change.snippets if change else ())
    if left is not None and (_is_readable(left, path) or not _is_readable(text, path)):
        return left
    for entry in entries:
        if path.suffix != ".toml":
            text = jsonc.take(text, entry.keys, program.is_run_by)
        elif program.is_run_by(toml_table.find(text, entry.keys)):
            text = toml_table.take(text, entry.keys)
    return text


def _remove_pieces(text: str, pieces: tuple[str, ...]) -> str | None:
    """Return the text without each piece; None if one is not in it just once."""
    for piece in reversed(pieces):
        if text.count(piece) != 1:
            return None
        text = text.replace(piece, "")
    return text if pieces else None


def _is_readable(text: str, path: Path) -> bool:
    try:
        if path.suffix == ".toml":
            toml_table.load(text)
        elif text.strip():
            jsonc.load(text)
    except (jsonc.NotJson, toml_table.NotToml):
        return False
    return True


def _require_readable(path: Path, before: str, after: str) -> None:
    """Refuse to make a file of a harness one that it cannot read."""
    if _is_readable(before, path) and not _is_readable(after, path):
        raise NotPossible(
            f"{path} would not be readable any more. Nothing was changed; edit it by hand."
        )


def plan_removal(
    harness: CodingAgent, target: Target, known: Connections
) -> list[FileEdit]:
    """Return the edits that take out what connecting this harness put in."""
    edits = []
    for change in known.changes:
        if change.harness == harness.name and change.repository in (
            "",
            target.repository,
        ):
            path = Path(change.path)
            before = read_text(path)
            after = _without(before, path, change, harness, target)
            edits.append(FileEdit(path, before, after, change))
    return edits


def _without(
    before: str | None, path: Path, change: Change, harness: CodingAgent, target: Target
) -> str | None:
    if before is None or (change.is_new and not change.snippets):
        return None
    entries = (
        [harness.mcp_entry(target.program)] if _is_mcp(path, harness, target) else []
    )
    if not harness.hook_file.is_ours and path == _path(harness.hook_file, target):
        entries += harness.hook_entries(target.program)
    try:
        after = remove_from(before, path, change, entries, target.program)
        for entry in entries if path.suffix == ".toml" else ():
            after = toml_table.take_orphans(after, entry.keys)
    except (jsonc.NotJson, toml_table.NotToml) as error:
        raise NotPossible(
            f"{path} was not understood: {error}. Nothing was changed and the key still "
            "works. Mend the file, and run this again."
        ) from error
    _require_readable(path, before, after)
    is_empty = after.strip() in ("", "{}", empty_settings(harness, entries).strip())
    return None if change.is_new and is_empty else after


def _is_mcp(path: Path, harness: CodingAgent, target: Target) -> bool:
    return path == _path(harness.mcp_file, target)


def back_up(edits: list[FileEdit], folder: Path) -> Path | None:
    """Copy the files as they are now; None if there is nothing to copy."""
    changed = [
        edit for edit in edits if edit.before is not None and edit.changes_something
    ]
    if not changed:
        return None
    place = folder / time.strftime("%Y-%m-%dT%H-%M-%S")
    place.mkdir(parents=True, mode=0o700, exist_ok=True)
    for number, edit in enumerate(changed):
        copy = place / f"{number}-{edit.path.name}"
        copy.touch(PRIVATE)  # other entries of the file may hold keys
        shutil.copyfile(edit.path, copy)
        copy.with_name(f"{copy.name}.path").write_text(
            f"{edit.path}\n", encoding="utf-8"
        )
    return place


def require_unchanged(edits: Sequence[FileEdit]) -> None:
    """Refuse edits of a file that somebody has written since they were planned."""
    for edit in edits:
        if edit.changes_something and read_text(edit.path) != edit.before:
            raise NotPossible(
                f"{edit.path} was changed in the meantime. Run this again to see what becomes "
                "of it."
            )


def write(edit: FileEdit) -> None:
    """Write or remove a file; a link to it stays a link, and its mode stays as it was."""
    require_unchanged([edit])
    path = edit.path.resolve()
    if edit.after is None:
        path.unlink(missing_ok=True)
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    mode = stat.S_IMODE(path.stat().st_mode) if path.exists() else PRIVATE
    beside = path.with_name(f".{path.name}.{os.getpid()}.am")
    # Other entries of the file may hold keys: nobody else may read it, not even for a moment.
    handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as stream:
            stream.write(edit.after)
        beside.chmod(mode)
        beside.replace(path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise


def describe_entries(entries: Sequence[Entry]) -> str:
    """Count what of ours is in a file: the hooks are elements; a plugin has no entries."""
    hooks = sum(entry.is_element for entry in entries)
    servers = len(entries) - hooks
    words = ["1 MCP server"] * servers + [f"{hooks} hooks"] * bool(hooks)
    return " and ".join(words) or "1 plugin"


def describe_edit(edit: FileEdit, machine: Machine, known: Connections) -> str:
    """Say in one line what an edit does to a file."""
    if not edit.changes_something:
        done = "in place"
    elif known.change_of(edit.path):
        done = "renewed"
    elif edit.before is not None and edit.change and not edit.change.snippets:
        done = "replaced"  # the whole file is ours
    else:
        done = "added"
    new = ", a new file" if edit.before is None else ""
    return f"{machine.shorten(edit.path)}: {edit.content} {done}{new}"


def render_files(
    harness: CodingAgent, machine: Machine, root: Path, source: Program | ProjectAddress
) -> dict[Path, str]:
    """Return the files of a harness with what belongs into them, as if they were new."""
    mcp_path = harness.mcp_file.path(machine, root)
    hook_path = harness.hook_file.path(machine, root)
    mcp_text, _ = insert_into("", mcp_path, harness, [harness.mcp_entry(source)])
    files = {mcp_path: mcp_text}
    if harness.hook_file.is_ours:
        files[hook_path] = harness.own_file(source)
    elif hooks := harness.hook_entries(source):
        entries = hooks
        if hook_path == mcp_path:
            entries = [harness.mcp_entry(source), *hooks]
        files[hook_path], _ = insert_into("", hook_path, harness, entries)
    return files
