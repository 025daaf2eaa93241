"""Connect a folder's project to the harnesses of this machine, and disconnect it again."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from agent_memory import connections, keys, settings_edit
from agent_memory.connections import Connection, Connections, FolderPlace, NotPossible
from agent_memory.harnesses import BY_NAME, HARNESSES, CodingAgent, Program
from agent_memory.places import Machine, this_machine
from agent_memory.repository import find_repository
from agent_memory.settings_edit import FileEdit, Target

DEFAULT_SERVER = "http://127.0.0.1:8000"
BACKUPS = "backups"  # a folder beside the connections
# Files that say that a repository holds several workspaces.
WORKSPACE_FILES = (
    "pnpm-workspace.yaml",
    "go.work",
    "lerna.json",
    "nx.json",
    "turbo.json",
)


@dataclass(frozen=True)
class ConnectionWish:
    """The folder, the server's project and the harnesses that shall be connected."""

    folder: Path
    server: str
    project: str
    harnesses: tuple[CodingAgent, ...]
    agent_id: str
    is_read_only: bool = False


@dataclass(frozen=True)
class Plan:
    """The edits of a wish, and the place that they are for."""

    wish: ConnectionWish
    place: FolderPlace
    edits: tuple[FileEdit, ...]

    @property
    def differences(self) -> list[str]:
        return [edit.difference for edit in self.edits if edit.changes_something]

    def edits_of(self, harness: CodingAgent) -> list[FileEdit]:
        return [e for e in self.edits if e.change and e.change.harness == harness.name]


def this_program() -> Program:
    main = Path(__file__).with_name("__main__.py")
    return Program(sys.executable, str(main), sys.platform == "win32")


def name_project(folder: Path) -> str:
    """Name a project after its repository, and after the path of a part of it."""
    repository = find_repository(folder.resolve())
    place = connections.locate(folder)
    name = repository.name if repository else folder.resolve().name
    return f"{name}/{place.path}" if place.path else name


def root_of(folder: Path) -> Path:
    """The root of the work tree around a folder, or the folder."""
    repository = find_repository(folder.resolve())
    return repository.root if repository else folder.resolve()


def folder_of(entry: Connection, folder: Path) -> Path:
    """The folder of a connection, in the work tree that a folder below it is in."""
    is_in_tree = str(connections.locate(folder).repository) == entry.repository
    root = root_of(folder) if is_in_tree else Path(entry.repository)
    return root / entry.path


def holds_workspaces(root: Path) -> bool:
    """Whether a repository's own files say that it holds several packages."""
    package, cargo = root / "package.json", root / "Cargo.toml"
    return (
        any((root / name).is_file() for name in WORKSPACE_FILES)
        or (package.is_file() and '"workspaces"' in package.read_text(errors="replace"))
        or (cargo.is_file() and "[workspace]" in cargo.read_text(errors="replace"))
    )


def choose_harnesses(names: list[str], machine: Machine) -> tuple[CodingAgent, ...]:
    """Return the harnesses of these names, or those that are installed."""
    unknown = [name for name in names if name not in BY_NAME]
    if unknown:
        known = ", ".join(BY_NAME)
        raise NotPossible(f"There is no harness {unknown[0]!r}. Known are {known}.")
    if names:
        return tuple(BY_NAME[name] for name in names)
    return tuple(harness for harness in HARNESSES if harness.is_installed(machine))


def plan(
    wish: ConnectionWish, known: Connections, *, program: Program | None = None
) -> Plan:
    """Return what connecting would write; nothing is written, and no key is made."""
    connections.refuse_tracked(connections.file_of())
    target = _target(wish.folder, program)
    edits = [e for h in wish.harnesses for e in settings_edit.plan(h, target, known)]
    return Plan(wish, connections.locate(wish.folder), tuple(edits))


def _target(folder: Path, program: Program | None) -> Target:
    place = connections.locate(folder)
    return Target(
        this_machine(),
        root_of(folder),
        str(place.repository),
        program or this_program(),
    )


def apply(plan: Plan, key: keys.ConnectionKey) -> Connection:
    """Keep the key, then write the edits; what fails halfway can be run again.

    Raises `NotPossible`, and keeps nothing, if a file was changed since the plan.
    """
    with connections.lock():
        settings_edit.require_unchanged(plan.edits)
        known = connections.read()
        entry = _entry_of(plan, key, known)
        known = known.with_entry(entry)
        # Before the files: what is written can then always be taken out.
        for edit in plan.edits:
            if edit.change:
                known = known.with_change(edit.change)
        connections.write(known)
        _write_edits(plan.edits)
    return entry


def _entry_of(plan: Plan, key: keys.ConnectionKey, known: Connections) -> Connection:
    wish = plan.wish
    before = known.at(plan.place)
    old = before.harnesses if before else ()
    names = dict.fromkeys([*old, *(h.name for h in wish.harnesses)])
    return Connection(
        repository=str(plan.place.repository),
        path=plan.place.path,
        server=wish.server,
        project=key.project,
        project_id=key.project_id,
        key=key.secret,
        key_id=key.key_id,
        agent_id=wish.agent_id,
        is_read_only=wish.is_read_only,
        harnesses=tuple(names),
    )


def _write_edits(edits: Sequence[FileEdit]) -> None:
    settings_edit.back_up(list(edits), connections.file_of().parent / BACKUPS)
    for edit in edits:
        if edit.changes_something:
            settings_edit.write(edit)


@dataclass(frozen=True)
class Removal:
    """A connection that goes, the edits of the files, and the connections before and after."""

    entry: Connection
    edits: tuple[FileEdit, ...]
    known: Connections
    left: Connections


def plan_removal(
    folder: Path, known: Connections, *, program: Program | None = None
) -> Removal:
    """Return what to take out: a harness's files only with its last connection."""
    entry = connections.find(folder, known)
    if entry is None:
        raise NotPossible(
            f"{folder.resolve()} is not connected; there is nothing to remove."
        )
    left = known.without(entry)
    target = _target(folder, program)
    edits = []
    for name in entry.harnesses:
        is_last = not any(name in other.harnesses for other in left.entries)
        for edit in settings_edit.plan_removal(BY_NAME[name], target, known):
            assert edit.change
            if is_last or edit.change.repository:
                edits.append(edit)
                left = left.without_change(edit.change)
    return Removal(entry, tuple(edits), known, left)


def remove(removal: Removal) -> str:
    """Take out what was put in and revoke the key; return why it could not be revoked."""
    entry = removal.entry
    with connections.lock():
        if connections.read() != removal.known:
            raise NotPossible(
                "Another command has changed the connections in the meantime. Run this again."
            )
        settings_edit.require_unchanged(removal.edits)
        _write_edits(removal.edits)
        _clear(entry, removal.left)
    return keys.revoke(entry.server, entry.key, entry.key_id)


def _clear(entry: Connection, left: Connections) -> None:
    """Write what is left without a connection and delete its state; keep nothing empty.

    The key is revoked after this, so a hook that writes its state meanwhile stops nothing.
    """
    if left == Connections():
        connections.file_of().unlink(missing_ok=True)
    else:
        connections.write(left)
    folder = entry.state_folder
    shutil.rmtree(folder, ignore_errors=True)
    with suppress(OSError):  # the states of other connections are in it
        folder.parent.rmdir()
