"""Write a file atomically, so that nobody reads a half-written file."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def replace(path: Path, content: bytes) -> bool:
    """Write a file atomically, and return whether the content changed.

    The mode and the owner of the file stay. If the path is a link, the file that the
    link points to is replaced.
    """
    path = path.resolve()
    before = path.read_bytes() if path.exists() else None
    if before == content:
        return False
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            _copy_mode_and_owner(file.fileno(), path)
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    return True


def _copy_mode_and_owner(handle: int, path: Path) -> None:
    """Give the new file the mode and the owner of the file that the new file replaces."""
    if not path.exists():
        mask = os.umask(0)
        os.umask(mask)
        os.fchmod(handle, 0o666 & ~mask)
        return
    like, own = path.stat(), os.fstat(handle)
    if (like.st_uid, like.st_gid) != (own.st_uid, own.st_gid):
        os.fchown(handle, like.st_uid, like.st_gid)
    os.fchmod(handle, like.st_mode & 0o7777)
