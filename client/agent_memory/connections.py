"""The connected projects of this machine, each with its server and its key.

They are in one file with mode 0600 in the client's own folder. No harness's configuration
has a key: its hooks and its MCP server run `am`, which finds the project by the folder that
it is called in. Standard library only: a hook imports this module.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from agent_memory import file_lock
from agent_memory.own_command import spell
from agent_memory.places import Machine, this_machine
from agent_memory.repository import find_repository

FILE = "connections.json"
STATE = "state"  # a folder beside it; in it each connection has a folder of its own
MODE = 0o600


class NotPossible(Exception):
    """The command cannot do this; the message says why and what to do."""


class Change(NamedTuple):
    """The exact texts that were put into a file of a harness, newest last.

    `repository` is set if the file is in a work tree, and so belongs to one connection.
    """

    harness: str
    path: str
    snippets: tuple[str, ...]
    is_new: bool = False
    repository: str = ""


class Connection(NamedTuple):
    """A project of a server, for a repository and below it `path`.

    `repository` is the folder that all work trees share, or else the folder itself.
    """

    repository: str
    path: str
    server: str
    project: str
    project_id: str
    key: str
    key_id: str = ""
    agent_id: str = ""
    is_read_only: bool = False
    harnesses: tuple[str, ...] = ()

    @property
    def place(self) -> tuple[str, str]:
        return self.repository, self.path

    @property
    def state_folder(self) -> Path:
        """Where the hooks keep what they know: given files, how far a transcript was sent."""
        name = hashlib.sha256("\n".join(self.place).encode()).hexdigest()[:32]
        return Path(this_machine().data, STATE, name)


class Connections(NamedTuple):
    """All connections, and what was written into the files of each harness."""

    entries: tuple[Connection, ...] = ()
    changes: tuple[Change, ...] = ()

    def at(self, place: FolderPlace) -> Connection | None:
        """Return the connection of just this place."""
        wanted = str(place.repository), place.path
        return next((e for e in self.entries if e.place == wanted), None)

    def with_entry(self, entry: Connection) -> Connections:
        others = (e for e in self.entries if e.place != entry.place)
        return self._replace(entries=(*others, entry))

    def without(self, entry: Connection) -> Connections:
        return self._replace(entries=tuple(e for e in self.entries if e != entry))

    def with_change(self, change: Change) -> Connections:
        others = (c for c in self.changes if c.path != change.path)
        return self._replace(changes=(*others, change))

    def without_change(self, change: Change) -> Connections:
        return self._replace(changes=tuple(c for c in self.changes if c != change))

    def change_of(self, path: Path) -> Change | None:
        return next((c for c in self.changes if c.path == str(path)), None)


class FolderPlace(NamedTuple):
    """Where a folder is: the shared folder of its repository, and the path below its root."""

    repository: Path
    path: str


def locate(folder: Path) -> FolderPlace:
    """Return the place of a folder; all work trees of a repository are one place."""
    folder = folder.resolve()
    repository = find_repository(folder)
    if repository is None:
        return FolderPlace(folder, "")
    path = folder.relative_to(repository.root).as_posix()
    return FolderPlace(repository.common_folder.resolve(), "" if path == "." else path)


def file_of(machine: Machine | None = None) -> Path:
    return Path((machine or this_machine()).data, FILE)


def read(file: Path | None = None) -> Connections:
    """Read the connections; none if there is no file."""
    file = file or file_of()
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
        return Connections(
            tuple(_connection_from(entry) for entry in data["connections"]),
            tuple(_change_from(row) for row in data.get("changes", ())),
        )
    except FileNotFoundError:
        return Connections()
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise NotPossible(
            f"{file} cannot be read: {error}. Mend it, or delete it and run {spell('connect')}."
        ) from error


def _connection_from(data: Mapping[str, Any]) -> Connection:
    return Connection(**{**data, "harnesses": tuple(data.get("harnesses", ()))})


def _change_from(data: Mapping[str, Any]) -> Change:
    return Change(**{**data, "snippets": tuple(data["snippets"])})


def write(connections: Connections, file: Path | None = None) -> Path:
    """Write the connections with mode 0600; refuse where the mode does not hold."""
    file = file or file_of()
    refuse_tracked(file)
    file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    data = {
        "connections": [entry._asdict() for entry in connections.entries],
        "changes": [change._asdict() for change in connections.changes],
    }
    write_private(file, json.dumps(data, indent=2) + "\n")
    if sys.platform != "win32" and stat.S_IMODE(file.stat().st_mode) != MODE:
        file.unlink()
        raise NotPossible(
            f"{file} cannot be kept from other users: its file system keeps no modes. "
            "Name a folder elsewhere in AGENT_MEMORY_HOME."
        )
    return file


@contextmanager
def lock() -> Iterator[None]:
    """Keep other commands from the connections, from a read until the write after it."""
    file = file_of()
    file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with file_lock.hold(file.with_suffix(".lock")):
        yield


def write_private(file: Path, text: str) -> None:
    """Replace a file at once by one that only its owner may read."""
    beside = file.with_name(f".{file.name}.{os.getpid()}")
    handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, MODE)
    with os.fdopen(handle, "w", encoding="utf-8") as stream:
        stream.write(text)
    beside.replace(file)


def refuse_tracked(file: Path) -> None:
    """Refuse a file in a repository: a key there is one `git add` away from being shared."""
    repository = find_repository(file.parent.resolve())
    if repository:
        raise NotPossible(
            f"{file} would hold a key inside the git repository {repository.root}. "
            "Name a folder outside every repository in AGENT_MEMORY_HOME."
        )


def find(folder: Path, connections: Connections) -> Connection | None:
    """Return the connection of a folder: of those around it, the one with the longest path."""
    place = locate(folder)
    around = [e for e in connections.entries if _is_around(e, place)]
    return max(around, key=lambda e: (len(e.repository), len(e.path)), default=None)


def _is_around(entry: Connection, place: FolderPlace) -> bool:
    repository = Path(entry.repository)
    if repository == place.repository:
        return not entry.path or f"{place.path}/".startswith(f"{entry.path}/")
    # A folder that is no repository holds the folders below it.
    return repository.name != ".git" and repository in place.repository.parents
