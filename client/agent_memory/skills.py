"""A playbook as a folder of `SKILL.md` files on this disk."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from agent_memory.connections import NotPossible

FILE = "SKILL.md"
MAX_BYTES = 1024 * 1024  # of a file, in which its head is looked for
MAX_HEAD = 20  # lines in which an exported file says whose it is
_PATH = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*/SKILL\.md")


class FolderChange(NamedTuple):
    """The files that were written, because their text is another one, and those removed."""

    written: list[Path]
    removed: list[Path]


def write_folder(
    folder: Path, project_id: str, files: Mapping[str, str]
) -> FolderChange:
    """Write the skills of a project, and remove those that it has no more.

    Only files that an export of this project wrote are replaced or removed. Raises
    `NotPossible`, before anything is written, if another file is in the way.
    """
    targets = {_find_target(folder, path): text for path, text in files.items()}
    for target in targets:
        if target.exists() and not _is_exported(target, project_id):
            raise NotPossible(
                f"{target} was not written by an export of this project. Move it away, or "
                "export into another folder."
            )
    written = [target for target, text in targets.items() if _write(target, text)]
    old = set(_find_exported(folder, project_id)) - targets.keys()
    for path in old:
        _remove(path)
    return FolderChange(written, sorted(old))


def _find_target(folder: Path, path: str) -> Path:
    """Return where a file goes; a name from the server leads nowhere else."""
    if not _PATH.fullmatch(path):
        raise NotPossible(f"The server names a file that is no skill: {path!r}.")
    target = folder / path
    if target.is_symlink() or target.parent.is_symlink():
        raise NotPossible(f"{target} is a link; export into another folder.")
    return target


def _find_exported(folder: Path, project_id: str) -> Iterator[Path]:
    for path in folder.glob(f"*/{FILE}"):
        is_link = path.is_symlink() or path.parent.is_symlink()
        if not is_link and _is_exported(path, project_id):
            yield path


def _is_exported(path: Path, project_id: str) -> bool:
    """Whether an export of the project wrote the file."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        head = file.read(MAX_BYTES).decode("utf-8", "replace").splitlines()
    marks = {"  source: agent-memory", f'  project: "{project_id}"'}
    return marks <= set(head[:MAX_HEAD])


def _write(target: Path, text: str) -> bool:
    content = text.encode()
    if target.exists() and target.read_bytes() == content:
        return False
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(content)
    return True


def _remove(path: Path) -> None:
    path.unlink()
    if not any(path.parent.iterdir()):
        path.parent.rmdir()
