"""Compare what complete-task costs in this checkout and in another one."""

from __future__ import annotations

import json
import subprocess
import sys
from argparse import ArgumentParser
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError

from bench import own_database
from bench.datasets import recorded_requests
from bench.datasets.recorded_requests import RecordedRequest
from bench.measures import task_meter
from bench.measures.task_meter import TaskCost
from bench.options import BenchmarkOptions
from bench.report import quality_metrics
from bench.report.progress_bar import ProgressBar
from tests.support import product_processes

HELP = "CPU and statements of complete-task, beside those of another checkout."
LONGEST = 20  # tasks of sessions
ROUNDS = 3
MAX_RATIO, MAX_CONTEXT_RATIO = 1.2, 1.5
SESSIONS = "sessions"
RATIOS = ("cpu_ratio", "statements_ratio")

Meter = subprocess.Popen[str]
# Of this checkout, and of the other one.
CostPair = tuple[TaskCost, TaskCost]


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--other", type=Path, required=True, help="folder of the other checkout"
    )
    parser.add_argument(
        "--context",
        action="store_true",
        help="measure the context of each task instead of its completion",
    )
    parser.add_argument(
        "--rounds",
        type=int,
        default=ROUNDS,
        help="times that each task is completed; its least CPU counts",
    )


def run(options: BenchmarkOptions) -> dict[str, Any]:
    tasks = select_tasks(recorded_requests.read_all(options.data))
    if not tasks:
        raise CommandError(f"{options.data} holds no traces and no sessions.")
    other = options.extra["other"].resolve()
    what = ["context"] if options.extra["context"] else []
    pairs: list[list[CostPair]] = [[] for _ in tasks]
    with own_database.create_for(other) as database:
        for number in range(options.extra["rounds"]):
            here = _start_meter(
                settings.BASE_DIR, product_processes.program_environment(), what
            )
            there = _start_meter(other, database.environment, what)
            bar = ProgressBar(f"cost: round {number + 1}", len(tasks))
            with here, there:
                for at, task in enumerate(bar.over(tasks)):
                    is_first = (number + at) % 2 == 0
                    pairs[at].append(_measure_pair(here, there, task, is_first))
    return {
        "sets": compare(tasks, pairs),
        "rounds": options.extra["rounds"],
        "limit": MAX_CONTEXT_RATIO if what else MAX_RATIO,
    }


def select_tasks(recorded: Iterator[RecordedRequest]) -> list[RecordedRequest]:
    """Return all tasks of the traces, then the longest tasks of the sessions."""
    traces: list[RecordedRequest] = []
    sessions: list[RecordedRequest] = []
    for task in recorded:
        (sessions if task.source == SESSIONS else traces).append(task)
    sessions.sort(key=lambda task: (-len(json.dumps(task.request)), task.name))
    return [*traces, *sessions[:LONGEST]]


def _start_meter(
    tree: Path, environment: Mapping[str, str], what: Sequence[str]
) -> Meter:
    """Start the program that completes tasks with the code of a checkout."""
    return subprocess.Popen(
        # -P: the folder of the program is not a place to import from.
        [sys.executable, "-P", task_meter.__file__, *what],
        cwd=tree,
        env={**environment, "PYTHONPATH": str(tree)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def _measure_pair(
    here: Meter, there: Meter, task: RecordedRequest, is_here_first: bool
) -> CostPair:
    if is_here_first:
        cost = _measure(here, task)
        return cost, _measure(there, task)
    other = _measure(there, task)
    return _measure(here, task), other


def _measure(meter: Meter, task: RecordedRequest) -> TaskCost:
    assert meter.stdin
    assert meter.stdout
    meter.stdin.write(json.dumps(task.request) + "\n")
    meter.stdin.flush()
    answer = meter.stdout.readline()
    if not answer:
        raise CommandError(f"{task.name}: a program ended, see its output above.")
    return TaskCost(**json.loads(answer))


def compare(
    tasks: Sequence[RecordedRequest],
    pairs: Sequence[Sequence[CostPair]],
) -> list[dict[str, Any]]:
    """Return a row for each set of tasks; `pairs` has the rounds of each task."""
    by_set: dict[str, list[Sequence[CostPair]]] = defaultdict(list)
    for task, rounds in zip(tasks, pairs, strict=True):
        by_set[task.source].append(rounds)
    return [_row(name, rounds) for name, rounds in by_set.items()]


def _row(name: str, tasks: Sequence[Sequence[CostPair]]) -> dict[str, Any]:
    here = _summarize([[cost for cost, _ in rounds] for rounds in tasks])
    other = _summarize([[cost for _, cost in rounds] for rounds in tasks])
    return {
        "set": name,
        "tasks": len(tasks),
        "here": here,
        "other": other,
        "cpu_ratio": _ratio(here["cpu_ms"], other["cpu_ms"]),
        "statements_ratio": _ratio(here["statements"], other["statements"]),
    }


def _summarize(tasks: Sequence[Sequence[TaskCost]]) -> dict[str, float]:
    """Return the means of a task, and the p95 of the CPU and of the wall clock."""
    cpu = [min(cost.cpu_ms for cost in rounds) for rounds in tasks]
    wall = [min(cost.wall_ms for cost in rounds) for rounds in tasks]
    counts = [min(cost.statements for cost in rounds) for rounds in tasks]
    return {
        "cpu_ms": round(quality_metrics.mean(cpu), 1),
        "cpu_p95_ms": round(quality_metrics.percentile(cpu, 0.95), 1),
        "wall_p95_ms": round(quality_metrics.percentile(wall, 0.95), 1),
        "statements": round(quality_metrics.mean(counts), 1),
    }


def _ratio(here: float, other: float) -> float:
    return round(here / other, 3) if other else 0.0


def table(result: Mapping[str, Any]) -> Iterator[list[str]]:
    yield [
        "set",
        "tasks",
        "CPU ms (other)",
        "ratio",
        "p95 CPU ms (other)",
        "p95 ms (other)",
        "statements (other)",
        "ratio",
    ]
    for row in result["sets"]:
        here, other = row["here"], row["other"]
        yield [
            row["set"],
            str(row["tasks"]),
            f"{here['cpu_ms']} ({other['cpu_ms']})",
            f"{row['cpu_ratio']:.2f}",
            f"{here['cpu_p95_ms']} ({other['cpu_p95_ms']})",
            f"{here['wall_p95_ms']} ({other['wall_p95_ms']})",
            f"{here['statements']} ({other['statements']})",
            f"{row['statements_ratio']:.2f}",
        ]


def remarks(result: Mapping[str, Any]) -> Iterator[str]:
    ratios = [row[key] for row in result["sets"] for key in RATIOS]
    yield (
        f"highest ratio: {max(ratios):.2f} (at most {result['limit']:g}); rounds: "
        f"{result['rounds']}"
    )
