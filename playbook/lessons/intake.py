"""Placeholder."""
from __future__ import annotations

from collections.abc import Sequence

from common.caller import Caller
from playbook.lessons.lesson import Occasion, TaughtLesson
from playbook.models import PlaybookDelta
from projects.models import Project


def take(project: Project, lessons: Sequence[TaughtLesson], occasion: Occasion, caller: Caller) -> list[PlaybookDelta]:
    raise NotImplementedError
