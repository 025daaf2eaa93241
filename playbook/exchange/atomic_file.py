"""Put text into a file so that nobody ever reads half of it."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def replace(path: Path, content: bytes) -> bool:
    """Write a file as a whole, or leave it as it is; whether it changed.

    Its mode and owner stay. A link keeps pointing at the file that is written.
    """
    path = path.resolve()
    before = path.read_bytes() if path.exists() else None
    if before == content:
        return False
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    written = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            _copy_mode_and_owner(file.fileno(), path)
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        written.replace(path)
    except BaseException:
        written.unlink(missing_ok=True)
        raise
    return True


def _copy_mode_and_owner(handle: int, path: Path) -> None:
    """Give a new file the mode and owner of the one in whose place it comes."""
    if not path.exists():
        mask = os.umask(0)
        os.umask(mask)
        os.fchmod(handle, 0o666 & ~mask)
        return
    like, own = path.stat(), os.fstat(handle)
    if (like.st_uid, like.st_gid) != (own.st_uid, own.st_gid):
        os.fchown(handle, like.st_uid, like.st_gid)
    os.fchmod(handle, like.st_mode & 0o7777)
