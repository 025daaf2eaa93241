"""A folder as git's own files describe it: its root, its worktrees, its branch.

Read without the program git: a hook has no time to start one. Standard library only.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple


class Repository(NamedTuple):
    """A work tree, and the folder that it shares with the other work trees."""

    root: Path
    git_folder: Path
    common_folder: Path

    @property
    def main_root(self) -> Path:
        """The root of the first work tree; that of a bare repository is the repository."""
        common = self.common_folder
        return common.parent if common.name == ".git" else common

    @property
    def name(self) -> str:
        return self.main_root.name.removesuffix(".git")

    @property
    def branch(self) -> str:
        """The branch that is checked out; empty if there is none."""
        try:
            head = (self.git_folder / "HEAD").read_text().strip()
        except OSError:
            return ""
        return head.removeprefix("ref: refs/heads/") if head.startswith("ref: ") else ""


def find_repository(folder: Path) -> Repository | None:
    """Return the repository around a folder; None if there is none.

    `git rev-parse --git-common-dir` names the same common folder.
    """
    for root in (folder, *folder.parents):
        dot_git = root / ".git"
        if dot_git.is_dir():
            return Repository(root, dot_git, dot_git)
        if dot_git.is_file():
            git_folder = _read_path(dot_git, "gitdir: ", root)
            common = git_folder / "commondir"
            shared = (
                _read_path(common, "", git_folder) if common.is_file() else git_folder
            )
            return Repository(root, git_folder, shared)
    return None


def _read_path(file: Path, prefix: str, folder: Path) -> Path:
    text = file.read_text().strip().removeprefix(prefix)
    return (folder / text).resolve()
