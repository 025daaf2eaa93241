"""A small project that shows a new user what memories and a playbook look like."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ace import run
from common.caller import SYSTEM
from memories import drafts, writing
from projects import writing as projects
from projects.models import Project

STORY = Path(__file__).with_name("demo.json")


def seed() -> str:
    """Make the demo project through the functions agents use; its name is returned.

    A project of that name is left as it is.
    """
    story = json.loads(STORY.read_text())
    name: str = story["project"]["name"]
    if not Project.objects.filter(name=name).exists():
        project = projects.create(story["project"], SYSTEM)
        for memory in story["memories"]:
            writing.store(project, draft(memory), SYSTEM)
        for task in story["tasks"]:
            run.complete(project, task, SYSTEM)
    return name


def draft(memory: dict[str, Any]) -> drafts.Draft:
    files = tuple(drafts.FileRef(path, relation) for path, relation in memory["files"])
    given = memory | {"files": files, "tags": tuple(memory["tags"])}
    return drafts.Draft(**given, agent_id="demo-agent")
