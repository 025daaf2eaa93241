"""Complete the tasks of standard input; answer each with what it cost.

With the argument `context`, what counts is the context of the task, asked after the task.

The program measures the checkout that PYTHONPATH names, which may be older than this file.
So it imports only what that checkout has too. A line of the input is the JSON of a
complete-task request, and a line of the output the JSON of a TaskCost.
"""

from __future__ import annotations

import json
import os
import sys
import time
import uuid
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from projects.models import Project


@dataclass(frozen=True)
class TaskCost:
    """Milliseconds of processor time in all threads and of wall clock, and statements.

    Statements that share one message of the database connection count as one.
    """

    cpu_ms: float
    wall_ms: float
    statements: int


def main() -> None:
    # Whatever else writes to the standard output must not come between the answers.
    with os.fdopen(os.dup(1), "w") as answers:
        os.dup2(2, 1)
        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memory_project.settings")
        import django  # only now, because the line above names the settings

        django.setup()
        from bench.fixtures import temp_project

        with temp_project.create_project("cost") as project:
            for line in sys.stdin:
                measure = measure_context if "context" in sys.argv[1:] else measure_task
                answer = asdict(measure(project, json.loads(line)))
                print(json.dumps(answer), file=answers, flush=True)


def measure_task(project: Project, request: dict[str, Any]) -> TaskCost:
    """Complete a task; raises RuntimeError if its run does not finish."""
    from ace import run as runs
    from common.caller import SYSTEM

    run, cost = _measure(lambda: runs.complete(project, request, SYSTEM))
    if run.state != "done":
        raise RuntimeError(f"The run is {run.state}: {run.phases}")
    return cost


def measure_context(project: Project, request: dict[str, Any]) -> TaskCost:
    """Complete a task, and measure what a key that asks for its context then costs."""
    from common.caller import SYSTEM
    from context import task_context

    measure_task(project, request)
    caller = replace(SYSTEM, key_id=uuid.uuid4())
    goal = str(request.get("goal"))
    return _measure(lambda: task_context.for_task(project, goal, caller))[1]


def _measure(act: Callable[[], Any]) -> tuple[Any, TaskCost]:
    from django.db import connection

    statements = 0

    def count(execute: Any, sql: Any, params: Any, many: bool, context: Any) -> Any:
        nonlocal statements
        statements += 1
        return execute(sql, params, many, context)

    with connection.execute_wrapper(count):
        cpu, wall = time.process_time(), time.perf_counter()
        result = act()
        cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    return result, TaskCost(round(cpu * 1000, 2), round(wall * 1000, 2), statements)


if __name__ == "__main__":
    main()
