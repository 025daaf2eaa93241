"""Count the lessons of each kind that the rules draw from recorded runs and sessions.

The rules are run alone, without a database.
"""

from __future__ import annotations

import random
from argparse import ArgumentParser
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ace.lessons import from_rules
from ace.task import task as tasks
from ace.task import task_outcome
from bench.datasets import recorded_requests
from bench.options import BenchmarkOptions

HELP = "Lessons of each kind on recorded runs and sessions, and a sample."
SAMPLE, SEED = 100, 27


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--seed", type=int, default=SEED, help="of the sample")


@dataclass
class LessonCount:
    """The lessons of one kind; a text counts once, however many runs show it."""

    texts: set[str] = field(default_factory=set)
    runs: int = 0


def run(options: BenchmarkOptions) -> dict[str, Any]:
    counts: dict[str, LessonCount] = defaultdict(LessonCount)
    shown: dict[str, dict[str, Any]] = {}
    for recorded in recorded_requests.read_all(options.data):
        task = tasks.parse(recorded.request)
        outcome = task_outcome.resolve(task)
        for lesson in from_rules.teach(task, outcome):
            counts[lesson.kind].texts.add(lesson.content)
            counts[lesson.kind].runs += 1
            row = {
                "run": recorded.name,
                "goal": task.goal[:300],
                "outcome": outcome.value,
                "quotes": [quote.quote for quote in lesson.quotes],
                "lesson": lesson.content,
                "kind": lesson.kind,
            }
            shown.setdefault(lesson.content, row)
    rows = list(shown.values())
    return {
        "kinds": {
            kind: {"lessons": len(count.texts), "runs": count.runs}
            for kind, count in sorted(counts.items())
        },
        "sample": random.Random(options.extra["seed"]).sample(
            rows, min(SAMPLE, len(rows))
        ),
    }


def table(result: dict[str, Any]) -> Iterator[list[str]]:
    yield ["kind", "lessons", "runs"]
    for kind, count in result["kinds"].items():
        yield [kind, str(count["lessons"]), str(count["runs"])]


def remarks(result: dict[str, Any]) -> Iterator[str]:
    yield f"Sample for reading: {len(result['sample'])} lessons (--json writes them)."
