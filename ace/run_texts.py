"""Read the texts of a run that quotes refer to."""

from __future__ import annotations

from collections.abc import Callable

from ace.models import AceRun
from ace.rules import task as tasks

TextReader = Callable[[str], str]


def text_reader(run: AceRun) -> TextReader:
    """Return a function from the field of a quote to its text; blank if there is none."""
    task = tasks.parse(run.request)

    def text(field: str) -> str:
        try:
            return task.text(field)
        except KeyError:
            return ""

    return text
