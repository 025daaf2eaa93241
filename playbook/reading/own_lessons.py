"""Lessons of a person that wait for everybody else: that person's own agents are given them."""

from __future__ import annotations

import uuid
from dataclasses import dataclass

from common.caller import Caller, Role
from playbook.models import PlaybookDelta
from playbook.rule_text import entry_line
from projects.models import Project

MAX_OWN = 10  # the newest of a person
LABEL = "yours"  # no entry has a label without a number


@dataclass(frozen=True)
class OwnLesson:
    """A waiting lesson, told by the person whose agent reads it."""

    delta_id: uuid.UUID
    content: str

    @property
    def line(self) -> str:
        return entry_line.write_marked(LABEL, self.content, " (waits for a person)")

    @property
    def least_size(self) -> int:
        return entry_line.least_size(LABEL, self.content)


def find(project: Project, caller: Caller) -> list[OwnLesson]:
    """Return the waiting lessons that the policy lets live at once for the caller's person."""
    caller.require(Role.VIEWER, project.pk)
    rows = PlaybookDelta.objects.serving(caller).filter(project=project)
    found = rows.order_by("-pk").values_list("pk", "content")[:MAX_OWN]
    return [OwnLesson(pk, content) for pk, content in found]
