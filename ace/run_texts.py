"""TODO docstring."""

from __future__ import annotations

from collections.abc import Callable

from ace.models import AceRun
from ace.rules import task as tasks

TextReader = Callable[[str], str]


def text_reader(run: AceRun) -> TextReader:
    """The run's texts by the names that quotes give them; blank for no such field."""
    task = tasks.parse(run.request)

    def text(field: str) -> str:
        try:
            return task.text(field)
        except KeyError:
            return ""

    return text
