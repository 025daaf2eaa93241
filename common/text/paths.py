"""One spelling of the path of a file, on whatever system and in whatever program it is written."""

from __future__ import annotations

import posixpath
import re
from urllib.parse import unquote

from common.text.normalise import normalise

_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{1,30}://")
_FILE = re.compile(r"file:(?://(?:localhost)?(?=/))?", re.IGNORECASE)
# Windows writes `\\?\` before a long path, and an address `/` before a drive.
_DRIVE = re.compile(r"(?://\?/|/)?([A-Za-z]:)(?=/|\Z)")


def clean_path(path: str) -> str:
    r"""Return the spelling of a path that equal paths share; "" for no path.

    `src\auth.py`, `./src//auth.py`, `src/x/../auth.py` and `file:src/auth.py` are one file.
    A slash at the end stays, because a filter with it names a folder. So does the letter
    case, except that of a drive.
    """
    path = normalise(path.strip(), "NFC")
    if found := _FILE.match(path):
        path = path[found.end() :]
        path = path if "%00" in path else normalise(unquote(path), "NFC")
    elif _ADDRESS.match(path):
        return path
    path = path.replace("\\", "/")
    if drive := _DRIVE.match(path):
        path = drive[1].upper() + path[drive.end() :]
    end = "/" if path.endswith(("/", "/.")) else ""
    path = posixpath.normpath(path)
    if path.startswith("/"):  # POSIX keeps two slashes at the start
        path = "/" + path.lstrip("/")
    if path in (".", "/"):
        return path.strip(".")
    return path + end
