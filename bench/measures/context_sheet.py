"""Write what `context` gives to later tasks of the sessions, for readers who judge it."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from bench.judge.session_calls import RecordedSession
from common.caller import Caller
from context import task_context
from context.headings import HEADINGS
from projects.models import Project

TASKS = 40
_SECTION_OF = {heading: name for name, heading in HEADINGS.items()}


@dataclass
class ContextSheet:
    """Tasks drawn from the later half of the sessions, and the lines that each is given.

    Every task of these sessions that used a tool may be drawn. `wanted` has the names of
    sessions and the numbers of their tasks.
    """

    wanted: frozenset[tuple[str, int]]
    rows: list[dict[str, Any]] = field(default_factory=list)

    @classmethod
    def draw(cls, sessions: Sequence[RecordedSession], seed: int) -> ContextSheet:
        later = sessions[len(sessions) // 2 :]
        tasks = [
            (session.name, number)
            for session in later
            for number in range(len(session.tasks))
            if session.calls_of(number)
        ]
        drawn = random.Random(seed).sample(tasks, min(TASKS, len(tasks)))
        return cls(frozenset(drawn))

    def ask(self, project: Project, session: RecordedSession, caller: Caller) -> None:
        """Add the drawn tasks of a session of which nothing is reported yet.

        Without a key, what is given is not credited to the tasks that follow.
        """
        reader = replace(caller, key_id=None)
        for number, task in enumerate(session.tasks):
            if (session.name, number) in self.wanted:
                given = task_context.for_task(
                    project, task.goal, reader, branch=task.branch
                )
                lines = list(_read_lines(given.text))
                self.rows.append({"task": task.goal, "lines": lines})

    def write(self, path: Path) -> None:
        """Write the tasks in the order of time, as JSON."""
        text = json.dumps(self.rows, indent=2, ensure_ascii=False)
        path.write_text(f"{text}\n", encoding="utf-8")


def _read_lines(text: str) -> Iterator[dict[str, str]]:
    """Yield each line under a heading, with its section."""
    section = ""
    for line in text.splitlines():
        if line in _SECTION_OF:
            section = _SECTION_OF[line]
        elif section:
            yield {"section": section, "text": line}
