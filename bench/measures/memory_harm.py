"""Measure that memory does no harm where nothing that is stored helps, in four conditions."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bench.datasets import recorded_requests
from bench.fixtures import temp_project
from bench.options import BenchmarkOptions
from bench.report.progress_bar import ProgressBar
from common.caller import SYSTEM
from context import task_context
from memories.lifecycle import supersede
from memories.models import Memory
from memories.store import files, write
from memories.store.drafts import Draft, FileRef
from projects.models import Project

HELP = (
    "How often a task is given memories that do not fit, are out of date, or disagree."
)
TASKS = 40  # of each condition
SEED = 28
STORED_HASH = "1" * 64  # of the files that memories link to
MIN_WORDS = 6  # of a goal; a shorter one, such as "yes", asks nothing
MAX_GOAL, MAX_RESULT = 400, 600  # characters of a memory
# What two memories of one task say, in pairs that cannot both hold.


@dataclass(frozen=True)
class RecordedGoal:
    """What a recorded task was asked for, and how it ended."""

    goal: str
    result: str

    @property
    def text(self) -> str:
        return f"{self.goal[:MAX_GOAL]}\n{self.result[:MAX_RESULT]}"


@dataclass(frozen=True)
class HarmCheck:
    """A task, and what its context must not give unmarked: {id of a memory: its mark}.

    A memory without a mark must not be given at all.
    """

    goal: str
    marks: Mapping[str, str]


def run(options: BenchmarkOptions) -> dict[str, Any]:
    by_source: defaultdict[str, list[RecordedGoal]] = defaultdict(list)
    for each in recorded_requests.read_all(options.data):
        goal = RecordedGoal(str(each.request["goal"]), str(each.request["result"]))
        if len(goal.goal.split()) >= MIN_WORDS and goal not in by_source[each.source]:
            by_source[each.source].append(goal)
    chance = random.Random(SEED)
    for goals in by_source.values():
        chance.shuffle(goals)
    conditions = {
        "nothing fits": (
            _store_others,
            by_source["sessions"],
            by_source["airline-tasks"],
        ),
        "superseded or stale": (_store_superseded, by_source["sessions"], ()),
        "neighbouring topic": (
            _store_others,
            by_source["coding-with-feedback"][:TASKS],
            by_source["coding-with-feedback"][TASKS:],
        ),
    }
    bar = ProgressBar("harm", len(conditions))
    rows = {}
    for name, (prepare, asked, stored) in bar.over(list(conditions.items())):
        rows[name] = _measure(prepare, asked[:TASKS], stored, options)
    return {"conditions": rows}


Preparation = Callable[
    [Project, Sequence[RecordedGoal], Sequence[RecordedGoal]], Iterable[HarmCheck]
]


def _measure(
    prepare: Preparation,
    asked: Sequence[RecordedGoal],
    stored: Sequence[RecordedGoal],
    options: BenchmarkOptions,
) -> dict[str, Any]:
    with temp_project.create_project("harm", keep=options.keep) as project:
        checks = list(prepare(project, asked, stored))
        with_memory, unmarked = 0, []
        for check in checks:
            given = task_context.for_task(project, check.goal, SYSTEM)
            with_memory += bool(given.memories)
            lines = given.text.splitlines()
            unmarked += [
                line
                for pk, mark in check.marks.items()
                for line in lines
                if pk in line.rpartition("(")[2] and not (mark and mark in line)
            ]
    return {"tasks": len(checks), "with_memory": with_memory, "unmarked": unmarked}


def _store_others(
    project: Project, asked: Sequence[RecordedGoal], stored: Sequence[RecordedGoal]
) -> Iterator[HarmCheck]:
    """Store tasks of another topic."""
    for other in stored:
        _store(project, other.text)
    for one in asked:
        yield HarmCheck(one.goal, {})


def _store_superseded(
    project: Project, asked: Sequence[RecordedGoal], stored: Sequence[RecordedGoal]
) -> Iterator[HarmCheck]:
    """Store what a task left, what superseded it, and a file of the latter that changed."""
    pairs = []
    for number, one in enumerate(asked):
        old = _store(project, one.text)
        path = f"src/part_{number}.py"
        new = _store(project, f"Since the move to part {number}, {one.text}", path)
        supersede.supersede_memory(old, new, SYSTEM)
        pairs.append((one, old, new))
    for digest in (STORED_HASH, "0" * 64):
        paths = (f"src/part_{number}.py" for number in range(len(pairs)))
        files.sync(project, dict.fromkeys(paths, digest), SYSTEM)
    for one, old, new in pairs:
        yield HarmCheck(one.goal, {str(old.pk): "", str(new.pk): "unconfirmed since"})


def _store(project: Project, text: str, path: str = "") -> Memory:
    links = (FileRef(path, "modified", content_hash=STORED_HASH),) if path else ()
    draft = Draft(content=text, memory_type="learning", files=links)
    memory = write.store(project, draft, SYSTEM).memory
    assert memory
    return memory


def table(result: Mapping[str, Any]) -> Iterator[list[str]]:
    yield ["condition", "tasks", "with a memory", "unmarked lines", "target"]
    for name, row in result["conditions"].items():
        share = row["with_memory"] / max(row["tasks"], 1)
        wanted = "≤ 5 % with a memory" if name == "nothing fits" else "0 unmarked"
        if name == "neighbouring topic":
            wanted = ""
        yield [
            name,
            str(row["tasks"]),
            f"{share:.0%}",
            str(len(row["unmarked"])),
            wanted,
        ]


def remarks(result: Mapping[str, Any]) -> Iterator[str]:
    for name, row in result["conditions"].items():
        for line in row["unmarked"][:5]:
            yield f"{name}: {line[:300]}"
