"""Replay recorded sessions, and measure what each was given at its start."""

from __future__ import annotations

from typing import Any

from benchmarks.measures import session_context, session_fixes
from benchmarks.options import BenchmarkOptions

HELP = "What a session is given at its start: files, project card and cures, without a judge."

table, remarks = session_context.table, session_context.remarks


def run(options: BenchmarkOptions) -> dict[str, Any]:
    done = session_fixes.replay(options, "context", asks=False)
    return {"sessions": done.sessions, "tasks": done.tasks, **done.context}
