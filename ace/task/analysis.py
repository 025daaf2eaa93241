"""What is read of a finished task, each part once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from ace.task import file_links, file_paths, task_outcome
from ace.task.file_paths import PathLink
from ace.task.task import Task
from ace.task.task_outcome import TaskOutcome


@dataclass(frozen=True)
class TaskAnalysis:
    """A task, how it ended, and the files that it touched, relative to its checkout."""

    task: Task

    @cached_property
    def outcome(self) -> TaskOutcome:
        return task_outcome.resolve(self.task)

    @cached_property
    def links(self) -> Sequence[PathLink]:
        return file_links.find(self.task)

    @cached_property
    def roots(self) -> tuple[str, ...]:
        return file_paths.find_roots(self.task)
