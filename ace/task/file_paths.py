"""Recognise file paths, and write them relative to the checkout in which a task ran."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ace.task import word_tables
from ace.task.task import Task
from common.text import languages
from common.text.paths import clean_path

Relation = Literal["read", "modified", "created", "deleted", "referenced"]

# The link of a path keeps its strongest relation, with the highest number here
# (docs/ace.md, "The memory").
STRENGTH: dict[Relation, int] = {
    "referenced": 0,
    "read": 1,
    "modified": 2,
    "created": 3,
    "deleted": 4,
}


@dataclass(frozen=True)
class PathLink:
    path: str
    relation: Relation
    line_start: int | None = None
    line_end: int | None = None


LANGUAGES = languages.BY_EXTENSION

_OTHER_EXTENSIONS = word_tables.read("file_extensions")
_KNOWN_NAMES = word_tables.read("file_names")
# Product names that look like file names.
_NOT_FILES = word_tables.read("product_names")
_REFUSED = re.compile(r"[\x00-\x1f\x7f*?<>|\"`]")
# In free text, a path has none of these characters. In an argument it may have them:
# `app/[id]/page.tsx`.
_REFUSED_IN_TEXT = re.compile(r"[\s'{}$=,;()\[\]!#%^&]")
_VERSION = re.compile(r"v?\d+(?:\.\d+){1,4}(?:[-+.]?\w{1,20})?")
_LINES = re.compile(r"(?P<path>.{1,400}?):(?P<line>\d{1,7})(?::\d{1,7})?")
_WINDOWS = re.compile(r"[A-Za-z]:\\|[\w.]\\[\w.]")
_IGNORED_ROOTS = ("/dev/", "/proc/", "/sys/", "//")
_MAX_PATH = 500


def extension(path: str) -> str:
    name = posixpath.basename(path)
    stem, dot, last = name.rpartition(".")
    return last.lower() if dot and stem else ""


def normalise(text: str, *, explicit: bool = False) -> str | None:
    """Return the normal form of a path, or None if the text names no file.

    Pass `explicit` for an argument that can only be a path. Then a name with an unknown
    extension, or without an extension, is a file too.
    """
    path = _clean(text)
    if not path or len(path) > _MAX_PATH or _REFUSED.search(path):
        return None
    if not explicit and _REFUSED_IN_TEXT.search(path):
        return None
    if path.endswith("/") or path.startswith(("-", "+", *_IGNORED_ROOTS)):
        return None
    if _VERSION.fullmatch(path) or path.lower() in _NOT_FILES:
        return None
    path = clean_path(path)
    return path if _names_a_file(path, explicit=explicit) else None


def with_line(text: str) -> tuple[str, int | None]:
    """Split `path:12` or `path:12:3` into the path and its line."""
    found = _LINES.fullmatch(text.strip().rstrip(":")[:_MAX_PATH])
    if not found:
        return text, None
    return found["path"], int(found["line"])


def _clean(text: str) -> str:
    path = text.strip().strip("\"'`").strip()
    path = path.removeprefix("file://")
    if "://" in path[:_MAX_PATH]:
        return ""
    if _WINDOWS.search(path[:_MAX_PATH]):
        path = path.replace("\\", "/")
    path = path.rstrip(",;:")
    if path.endswith(".") and not path.endswith(".."):
        path = path.rstrip(".")
    path = path[: _MAX_PATH + 1]
    return re.sub(r"/{2,}", "/", path) if "//" in path else path


def _names_a_file(path: str, *, explicit: bool) -> bool:
    name = posixpath.basename(path)
    if name in ("", ".", "..", "~") or not any(char.isalnum() for char in name):
        return False
    if _is_known(name):
        return True
    if not explicit or _is_domain(path):
        return False
    return "/" in path or "." in name.strip(".")


def _is_known(name: str) -> bool:
    last = extension(name)
    if last in LANGUAGES or last in _OTHER_EXTENSIONS:
        return True
    if name.startswith(".") and name[1:2].isalpha():
        return True
    return name.lower() in _KNOWN_NAMES


def _is_domain(path: str) -> bool:
    last = path.rpartition(".")[2]
    return "/" not in path and last in {"com", "org", "net", "io", "dev", "ai", "co"}


MAX_PATH = 1_000  # characters
# A path of the project is relative, and names no folder above the root.
_OUTSIDE = re.compile(r"[/~\\]|[A-Za-z]:|\.\.(?:/|$)")
# What a program wrote for itself, or for one run.
_SCRATCH = re.compile(
    r"(?:^|/)(?:tmp|temp|node_modules|site-packages|dist-packages|__pycache__|\.git|\.venv|venv"
    r"|\.cache|\.worktrees)/"
)
_ODD = re.compile(r"[\s*?<>|\"'`;\\]")


def find_roots(task: Task) -> tuple[str, ...]:
    """Return the folders in which the calls ran, the shortest first.

    A call that ran in a folder below the root was made after `cd`; the shortest folder is
    the root.
    """
    folders = {call.cwd.rstrip("/\\") for call in task.calls if call.cwd}
    return tuple(
        sorted(filter(None, folders), key=lambda folder: (len(folder), folder))
    )


def relative(path: str, roots: Sequence[str]) -> str:
    """Return the path below the first root that holds it, or the path as it is."""
    plain = path.replace("\\", "/") if re.match(r"[A-Za-z]:\\", path) else path
    for root in roots:
        if plain.startswith(f"{root}/"):
            return plain[len(root) + 1 :]
    return plain.removeprefix("./")


def is_inside(path: str) -> bool:
    """Return whether a relative path is a file of the project, and no scratch."""
    return (
        bool(path)
        and len(path) <= MAX_PATH
        and not _OUTSIDE.match(path)
        and not _SCRATCH.search(path)
        and not _ODD.search(path)
    )
