"""Measure a playbook while tasks arrive without end.

The playbook must stay small, and its curator must stay fast.
"""

from __future__ import annotations

import itertools
import json
import time
from argparse import ArgumentParser
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from ace import recorded_tasks
from ace import run as runs
from ace.models import AceRun
from benchmarks.datasets import finer_questions
from benchmarks.datasets.finer_questions import (
    FinerQuestion,
    FinerQuestions,
    TagAnswerer,
)
from benchmarks.fixtures import bulk_entries, temp_project
from benchmarks.options import BenchmarkOptions
from benchmarks.report import quality_metrics
from benchmarks.report.progress_bar import ProgressBar
from common.caller import SYSTEM
from playbook.models import Playbook, PlaybookEntry
from projects.models import Project

# A recording already is a request. A question must be answered first.
Task = dict[str, Any] | FinerQuestion

HELP = "Entries, tokens and milliseconds while recorded tasks are repeated for ever."
TASKS = 5_000
WINDOWS = 10
# The same policy as in `learning_curve`: the feedback comes from the recording.
SETTINGS = {"policy": "auto"}
# The limits of two ratios. The first ratio is the number of entries at the end to the
# number after half the tasks. The second ratio is the curator's time at the end to its
# time in the second window.
MAX_GROWTH, MAX_DRIFT = 1.3, 2.0


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--tasks", type=int, default=TASKS, help="tasks to complete")
    parser.add_argument(
        "--memories", type=int, default=0, help="memories stored beforehand"
    )
    parser.add_argument(
        "--entries", type=int, default=0, help="playbook entries written beforehand"
    )


def run(options: BenchmarkOptions) -> dict[str, Any]:
    extra = options.extra
    recordings = list(_recorded_tasks(options.data))
    questions = finer_questions.load_questions(options.data)
    with temp_project.create_project(
        "growth", keep=options.keep, settings=SETTINGS
    ) as project:
        bulk_entries.write_memories(project, questions, extra["memories"])
        bulk_entries.write_entries(project, questions, extra["entries"])
        windows = _complete_all(project, recordings, questions, extra["tasks"])
        budget = project.options.budgets.playbook_tokens
    return {"windows": windows, "budget": budget, "tasks": extra["tasks"]}


def _recorded_tasks(data: Path) -> Iterator[dict[str, Any]]:
    """Yield a request that completes a task for every recorded run under `traces`."""
    for path in sorted((data / "traces").glob("*.jsonl")):
        for row in path.read_text(encoding="utf-8").splitlines():
            if row.strip():
                yield recorded_tasks.to_request(json.loads(row), agent_id="benchmark")


def _complete_all(
    project: Project,
    recordings: Sequence[dict[str, Any]],
    questions: FinerQuestions,
    tasks: int,
) -> list[dict[str, Any]]:
    """Complete recordings and questions alternately. Return a row for each window."""
    if tasks < WINDOWS:
        raise CommandError(f"--tasks must be {WINDOWS} at least.")
    answerer = TagAnswerer(project, questions.tags)
    work: list[Task] = [*recordings, *questions.to_learn, *questions.to_test]
    in_turn = itertools.cycle(work)
    stops = {tasks * step // WINDOWS for step in range(1, WINDOWS + 1)}
    windows: list[dict[str, Any]] = []
    times: list[tuple[float, float]] = []
    bar = ProgressBar("growth: tasks", tasks)
    for number, task in enumerate(itertools.islice(in_turn, tasks), start=1):
        times.append(_complete_task(project, task, answerer))
        bar.show(number)
        if number in stops:
            windows.append(_window_row(project, number, times))
            times = []
    return windows


def _complete_task(
    project: Project, task: Task, answerer: TagAnswerer
) -> tuple[float, float]:
    """Return the milliseconds of the whole request, and those of its curator."""
    request = task if isinstance(task, dict) else _answer_question(task, answerer)
    started = time.perf_counter()
    run = runs.complete(project, request, SYSTEM)
    whole = (time.perf_counter() - started) * 1000
    if run.state != AceRun.RunState.DONE:
        raise CommandError(f"A run did not finish: {run.phases}")
    return whole, run.phases["curator"]["took_ms"]


def _answer_question(question: FinerQuestion, answerer: TagAnswerer) -> dict[str, Any]:
    request = finer_questions.request(question, answerer.answer(question))
    return finer_questions.judged_request(request, question.tag)


def _window_row(
    project: Project, tasks: int, times: Sequence[tuple[float, float]]
) -> dict[str, Any]:
    whole, curator = zip(*times, strict=True)
    live = PlaybookEntry.objects.current().filter(project=project)
    playbook = Playbook.objects.get(project=project)
    return {
        "tasks": tasks,
        "entries": live.count(),
        "tokens": playbook.tokens,
        "curator_p50_ms": round(quality_metrics.percentile(curator, 0.5), 1),
        "curator_p95_ms": round(quality_metrics.percentile(curator, 0.95), 1),
        "complete_p50_ms": round(quality_metrics.percentile(whole, 0.5), 1),
        "complete_p95_ms": round(quality_metrics.percentile(whole, 0.95), 1),
    }


def table(result: Mapping[str, Any]) -> Iterator[list[str]]:
    yield ["tasks", "entries", "tokens", "curator p50/p95 ms", "whole p50/p95 ms"]
    for row in result["windows"]:
        yield [
            str(row["tasks"]),
            str(row["entries"]),
            str(row["tokens"]),
            f"{row['curator_p50_ms']:.0f}/{row['curator_p95_ms']:.0f}",
            f"{row['complete_p50_ms']:.0f}/{row['complete_p95_ms']:.0f}",
        ]


def remarks(result: Mapping[str, Any]) -> Iterator[str]:
    rows = result["windows"]
    half, last = rows[WINDOWS // 2 - 1], rows[-1]
    yield (
        f"entries after {last['tasks']}: {last['entries'] / max(half['entries'], 1):.2f} "
        f"times those after {half['tasks']} (at most {MAX_GROWTH:g})"
    )
    most = max(row["tokens"] for row in rows)
    yield f"tokens: {most} at most, of a budget of {result['budget']}"
    # The first window has hardly an entry with which the curator could compare.
    early, late = rows[1]["curator_p95_ms"], last["curator_p95_ms"]
    yield (
        f"curator p95: {late / max(early, 0.1):.2f} times that of the second window "
        f"(at most {MAX_DRIFT:g})"
    )
    yield f"complete-task p95 in the last window: {last['complete_p95_ms']:.0f} ms"
