"""Write what the console's page *Connect* shows of each harness.

    .venv/bin/python client/generate_forms.py

`agent_memory.harnesses` is the one description of each. The console imports nothing of the
client, so it reads this file, and puts its own address and its project in.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from agent_memory import settings_edit
from agent_memory.harnesses import HARNESSES, CodingAgent
from agent_memory.places import Machine
from agent_memory.scriptless import KEY_VARIABLE, ProjectAddress

FILE = Path(__file__).parents[1] / "console" / "connect" / "harnesses.json"
# Stand for the service and the project.
SERVICE = ProjectAddress(
    "https://service.invalid", "00000000-0000-0000-0000-000000000000"
)
HOME = Machine({"HOME": "~"}, "linux")


def describe(harness: CodingAgent) -> Mapping[str, Any]:
    files = settings_edit.render_files(harness, HOME, Path(), SERVICE)
    return {
        "name": harness.name,
        "title": harness.title,
        "has_hooks": harness.has_remote_hooks,
        "notes": [note for note in (harness.remote_note, harness.note) if note],
        "files": [{"path": str(path), "text": text} for path, text in files.items()],
    }


def render() -> str:
    """Return the text of the file."""
    data = {
        "address": SERVICE.server,
        "project": SERVICE.project,
        "key_variable": KEY_VARIABLE,
        "harnesses": [describe(harness) for harness in HARNESSES],
    }
    return json.dumps(data, indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    FILE.write_text(render(), encoding="utf-8")
