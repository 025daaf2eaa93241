"""Replay recorded sessions, and measure what each was given at its start."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from bench.measures import session_context, session_fixes
from bench.options import BenchmarkOptions

HELP = "What a session is given at its start: files, project card and cures, without a judge."

table, remarks = session_context.table, session_context.remarks


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--sheet",
        type=Path,
        help="write what context gives to 40 later tasks to this file, to be judged",
    )
    parser.add_argument(
        "--seed", type=int, default=28, help="of the tasks of the sheet"
    )


def run(options: BenchmarkOptions) -> dict[str, Any]:
    path = options.extra["sheet"]
    seed = options.extra["seed"] if path else None
    done = session_fixes.replay(options, "context", asks=False, seed=seed)
    if path and done.sheet:
        done.sheet.write(path)
    return {"sessions": done.sessions, "tasks": done.tasks, **done.context}
