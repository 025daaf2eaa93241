"""Store what a finished task leaves: files and commands."""

from __future__ import annotations

from ace.models import AceRun
from ace.traces import checks, files


def store(run: AceRun) -> None:
    """Store the traces of a run; a second call stores nothing new."""
    for trace in (files, checks):
        trace.store(run)
