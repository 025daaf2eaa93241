"""The demo project: it shows a new user what memories and a playbook look like."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ace import run
from common.caller import SYSTEM
from memories.store import write
from memories.store.drafts import Draft, FileRef
from projects import lifecycle
from projects.models import Project

STORY = Path(__file__).with_name("demo.json")
AGENT = "demo-agent"


def seed() -> Project | None:
    """Create the demo project through the functions that agents use.

    Return None, and create nothing, if there is a project already; a deleted project
    in its grace period counts as one.
    """
    if Project.objects.exists():
        return None
    story = json.loads(STORY.read_text())
    project = lifecycle.create(story["project"], SYSTEM)
    drafts = [draft_of(memory) for memory in story["memories"]]
    write.commit(write.prepare(project, drafts, SYSTEM))
    for task in story["tasks"]:
        run.complete(project, task, SYSTEM)
    return project


def draft_of(memory: dict[str, Any]) -> Draft:
    files = tuple(FileRef(path, relation) for path, relation in memory["files"])
    fields = memory | {"files": files, "tags": tuple(memory["tags"])}
    return Draft(**fields, agent_id=AGENT)
