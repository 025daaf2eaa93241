"""Read the texts of a run from which quotes are taken."""

from __future__ import annotations

from collections.abc import Callable

from ace.models import AceRun
from ace.task import task as tasks

TextReader = Callable[[str], str]


def text_reader(run: AceRun) -> TextReader:
    """Return a function that takes the field of a quote and returns the field's text.

    The function returns a blank text if the run has no such field.
    """
    task = tasks.parse(run.request)

    def text(field: str) -> str:
        try:
            return task.text(field)
        except KeyError:
            return ""

    return text
