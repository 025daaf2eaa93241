"""Where this client and the harnesses keep their files, by operating system.

The functions take the environment and a path module, so that the paths of Windows are
tested anywhere. Standard library only: a hook imports this module.
"""

from __future__ import annotations

import ntpath
import os
import posixpath
import sys
from collections.abc import Mapping
from pathlib import PurePath
from types import ModuleType
from typing import NamedTuple


class Machine(NamedTuple):
    """The environment variables and the operating system that decide on paths."""

    environment: Mapping[str, str]
    system: str = sys.platform

    @property
    def is_windows(self) -> bool:
        return self.system == "win32"

    @property
    def paths(self) -> ModuleType:
        return ntpath if self.is_windows else posixpath

    def join(self, *parts: str) -> str:
        return str(self.paths.normpath(self.paths.join(*parts)))

    @property
    def home(self) -> str:
        name = "USERPROFILE" if self.is_windows else "HOME"
        return self.environment.get(name) or os.path.expanduser("~")  # noqa: PTH111

    def folder_of(self, variable: str, default: str) -> str:
        """Return the folder that a variable names, or else `default` below the home."""
        return self.environment.get(variable) or self.join(self.home, default)

    def shorten(self, path: PurePath) -> str:
        """Write a path with `~` for the home."""
        if path.is_relative_to(self.home):
            return self.join("~", str(path.relative_to(self.home)))
        return str(path)

    @property
    def config(self) -> str:
        """The folder of the user's settings, by the XDG rules."""
        return self.folder_of("XDG_CONFIG_HOME", ".config")

    @property
    def data(self) -> str:
        """The folder of this client: its connections with their keys, its state, its log."""
        if folder := self.environment.get("AGENT_MEMORY_HOME"):
            return self.join(folder)
        if self.is_windows:
            roaming = self.folder_of("APPDATA", "AppData/Roaming")
            return self.join(roaming, "agent-memory")
        return self.join(self.config, "agent-memory")


def this_machine() -> Machine:
    return Machine(os.environ)
