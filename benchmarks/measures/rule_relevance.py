"""Measure whether a task is given the rules that are meant for it, and no others."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.fixtures import bulk_entries, temp_project
from benchmarks.options import BenchmarkOptions
from benchmarks.report import quality_metrics
from benchmarks.report.progress_bar import ProgressBar
from common.text import plain_text
from playbook.exchange import ace_format
from playbook.models import PlaybookEntry
from playbook.reading import relevance
from projects.models import Project

HELP = "How many rules pass the relevance gate of the tasks that they are meant for."
OWN_FOLDER = Path(__file__).parent.parent / "data" / "rules"
TASK_ENTRIES = 5  # entries that the task context contains by default


@dataclass(frozen=True)
class TaskRule:
    """A task, and a rule that its agent should know."""

    task: str
    rule: str


def run(options: BenchmarkOptions) -> dict[str, Any]:
    sets = {path.stem: _task_rules(path) for path in sorted(OWN_FOLDER.glob("*.jsonl"))}
    meant = [pair.rule for pairs in sets.values() for pair in pairs]
    known = {
        plain_text.similarity_hash(rule): rule for rule in _other_rules(options.data)
    }
    known |= {plain_text.similarity_hash(rule): rule for rule in meant}
    with temp_project.create_project("relevance", keep=options.keep) as project:
        bulk_entries.write_rules(project, list(known.values()))
        ids = _entry_ids(project)
        rows = {name: _measure(project, sets[name], name, ids) for name in sets}
    return {"sets": rows, "rules": len(ids)}


def _task_rules(path: Path) -> list[TaskRule]:
    lines = path.read_text(encoding="utf-8").splitlines()
    return [TaskRule(**json.loads(line)) for line in lines if line.strip()]


def _other_rules(data: Path) -> Iterator[str]:
    """Yield the rules of every playbook under `playbooks`.

    These rules are meant for other tasks.
    """
    for path in sorted((data / "playbooks").glob("*.txt")):
        for line in ace_format.parse(path.read_text(encoding="utf-8")).lines:
            yield line.text


def _entry_ids(project: Project) -> dict[str, uuid.UUID]:
    rows = PlaybookEntry.objects.current().filter(project=project)
    return dict(rows.values_list("content", "pk"))


def _measure(
    project: Project, pairs: Sequence[TaskRule], name: str, ids: Mapping[str, uuid.UUID]
) -> dict[str, Any]:
    passed, given, wrong = [], [], []
    for pair in ProgressBar(f"relevance: {name}", len(pairs)).over(pairs):
        found = relevance.measure(
            project, PlaybookEntry.objects.current(), pair.task
        ).by_id
        passing = sorted(filter(lambda pk: found[pk].is_relevant, found), key=str)
        best = sorted(passing, key=lambda pk: -found[pk].lead)[:TASK_ENTRIES]
        right = ids[pair.rule]
        passed.append(right in passing)
        given.append(right in best)
        wrong.append(len(passing) - (right in passing))
    return {
        "tasks": len(pairs),
        "passed": round(quality_metrics.mean(passed), 3),
        "given": round(quality_metrics.mean(given), 3),
        "wrong": round(quality_metrics.mean(wrong), 2),
    }


def table(result: Mapping[str, Any]) -> Iterator[list[str]]:
    yield [
        "set",
        "tasks",
        "rule passes",
        f"is of the best {TASK_ENTRIES}",
        "others that pass",
    ]
    for name, row in result["sets"].items():
        numbers = (row["tasks"], row["passed"], row["given"], row["wrong"])
        yield [name, *map(str, numbers)]


def remarks(result: Mapping[str, Any]) -> Iterator[str]:
    yield f"{result['rules']} rules; an entry without votes passes from {relevance.RULE_GATE}"
