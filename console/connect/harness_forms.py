"""What a person puts into the settings of each coding agent.

`client/generate_forms.py` writes the file that is read here.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from projects.models import Project

FILE = Path(__file__).with_name("harnesses.json")


@dataclass(frozen=True)
class SettingsText:
    """A settings file, and what belongs into it; `~` is the home folder."""

    path: str
    text: str


@dataclass(frozen=True)
class HarnessForm:
    """A coding agent that calls the service by itself.

    Without `has_hooks` it has the tools only: its hooks run commands.
    """

    name: str
    title: str
    has_hooks: bool
    notes: tuple[str, ...]
    files: tuple[SettingsText, ...]


@cache
def _read() -> dict[str, Any]:
    data: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    return data


def key_variable() -> str:
    """Return the environment variable that the settings read the key from."""
    return str(_read()["key_variable"])


def fill(address: str, project: Project) -> list[HarnessForm]:
    """Return the form of each harness for a project of the service at an address."""
    return [
        HarnessForm(
            each["name"],
            each["title"],
            each["has_hooks"],
            tuple(each["notes"]),
            tuple(
                SettingsText(file["path"], _fill_text(file["text"], address, project))
                for file in each["files"]
            ),
        )
        for each in _read()["harnesses"]
    ]


def _fill_text(text: str, address: str, project: Project) -> str:
    data = _read()
    return text.replace(data["project"], str(project.pk)).replace(
        data["address"], address
    )
