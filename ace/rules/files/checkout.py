"""Write the paths of a task relative to the root of the checkout in which it ran."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ace.rules.task import Task

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
