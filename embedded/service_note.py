"""The note of a running `up` in the checkout: on which data it runs, and on which port.

A command of the same checkout that is given no data folder then uses the one of the service.
This module imports no Django, because manage.py needs it before the settings are read.
"""

from __future__ import annotations

import atexit
import json
import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from embedded import data_folder
from embedded.data_folder import BASE_DIR, EmbeddedError
from embedded.file_lock import FileLock, is_held


def folder() -> Path:
    """Return the folder of the notes: SERVICE_NOTES, or `.up` in the checkout."""
    return BASE_DIR / (os.environ.get("SERVICE_NOTES") or ".up")


@dataclass(frozen=True)
class ServiceNote:
    """A note, which counts while its service holds the lock on it: a killed one does not."""

    data: Path
    port: int
    lock: FileLock

    def remove(self) -> None:
        self.lock.path.unlink(missing_ok=True)
        self.lock.release()


def leave(data: Path, *, port: int) -> ServiceNote | None:
    """Leave the note of this process; None if the checkout takes none: it may be read-only.

    It is removed when this process ends, unless that is killed. Only the holder of the data
    folder's `up.lock` may call this.
    """
    try:
        folder().mkdir(parents=True, exist_ok=True)
        lock = FileLock(folder() / data_folder.short_hash(data))
        # Before the lock: a note that is locked is whole.
        lock.path.write_text(json.dumps({"data": str(data), "port": port}))
        lock.acquire()
    except OSError:
        return None
    note = ServiceNote(data, port, lock)
    atexit.register(note.remove)
    return note


def find_services() -> Iterator[dict[str, object]]:
    """Yield the data folder and the port of each running service of this checkout."""
    for path in sorted(folder().glob("*")):
        # A service may end meanwhile, or belong to another user, whose data is out of reach.
        with suppress(OSError):
            if is_held(path):
                yield json.loads(path.read_text())


def locate(*, port: int | None = None) -> Path:
    """Return the data folder of a command: DATA_DIR, or that of the running service.

    If no service runs, or if one of several runs on the default folder, it is the default.
    With a port, only the service on it counts: whose data an answer there comes from is not
    known by another one.
    """
    default = data_folder.locate()
    if os.environ.get("DATA_DIR"):
        return default
    services = list(find_services())
    if services and port:
        services = [each for each in services if each["port"] == port]
        if not services:
            raise EmbeddedError(f"No service of this checkout runs on port {port}.")
    folders = {Path(str(each["data"])) for each in services}
    if not folders or default in folders:
        return default
    if len(folders) > 1:
        names = " and ".join(sorted(map(str, folders)))
        raise EmbeddedError(
            f"Services of this checkout run on {names}. Name one of them in DATA_DIR."
        )
    return folders.pop()
