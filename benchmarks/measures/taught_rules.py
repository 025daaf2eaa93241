"""Measure whether a rule that a person just taught is given to later tasks in other words."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ace import run as runs
from benchmarks.fixtures import bulk_entries, temp_project
from benchmarks.options import BenchmarkOptions
from benchmarks.report.progress_bar import ProgressBar
from common.caller import SYSTEM
from context import task_context
from playbook.exchange import ace_format
from playbook.models import PlaybookEntry
from projects.models import Project

HELP = "How often a task gets the rule that a person's feedback taught before."
LESSONS = Path(__file__).parent.parent / "data" / "taught" / "taught.jsonl"
TAUGHT = 3  # rules of one project
# The number of entries of the project; in the smallest one each rule is alone.
SIZES = (1, 20, 200)


@dataclass(frozen=True)
class TaughtRule:
    """Feedback about a finished task, and a later task that needs what it teaches."""

    goal: str
    feedback: str
    task: str


def run(options: BenchmarkOptions) -> dict[str, Any]:
    lines = LESSONS.read_text(encoding="utf-8").splitlines()
    taught = [TaughtRule(**json.loads(line)) for line in lines if line.strip()]
    others = list(_other_rules(options.data))
    rows = {}
    bar = ProgressBar("taught", len(SIZES))
    for size in bar.over(SIZES):
        step = 1 if size == 1 else TAUGHT
        groups = [taught[at : at + step] for at in range(0, len(taught), step)]
        found = [
            each
            for group in groups
            for each in _measure(group, others[: size - len(group)], options)
        ]
        rows[str(size)] = _count(found)
    return {"sizes": rows}


def _other_rules(data: Path) -> Iterator[str]:
    """Yield rules that are meant for other tasks."""
    for path in sorted((data / "playbooks").glob("*.txt")):
        seen = dict.fromkeys(
            line.text for line in ace_format.parse(path.read_text("utf-8")).lines
        )
        yield from seen


def _measure(
    group: Sequence[TaughtRule], others: Sequence[str], options: BenchmarkOptions
) -> Iterator[dict[str, Any]]:
    with temp_project.create_project("taught", keep=options.keep) as project:
        bulk_entries.write_rules(project, others)
        entries = [_teach(project, one) for one in group]
        for one, entry in zip(group, entries, strict=True):
            yield _ask(project, one, entry)


def _teach(project: Project, one: TaughtRule) -> PlaybookEntry | None:
    known = set(PlaybookEntry.objects.filter(project=project).values_list("pk"))
    request = {
        "goal": one.goal,
        "result": "Done.",
        "feedback": one.feedback,
        "feedback_source": "human",
        "outcome": "success",
        "tool_usage": [],
    }
    runs.complete(project, request, SYSTEM)
    new = PlaybookEntry.objects.filter(project=project).exclude(
        pk__in=[pk for (pk,) in known]
    )
    found: PlaybookEntry | None = new.first()
    return found


def _ask(
    project: Project, one: TaughtRule, entry: PlaybookEntry | None
) -> dict[str, Any]:
    context = task_context.for_task(project, one.task, SYSTEM)
    sections = {rule.entry.pk: rule.section for rule in context.entries}
    where = sections.get(entry.pk, "") if entry else ""
    counted = sum(section != "other" for section in sections.values())
    return {
        "task": one.task,
        "learned": bool(entry),
        "section": where,
        "rules": counted,
    }


def _count(found: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    return {
        "tasks": len(found),
        "learned": sum(each["learned"] for each in found),
        "given": sum(bool(each["section"]) for each in found),
        "in_front": sum(each["section"] in ("relevant", "process") for each in found),
        "rules": round(sum(each["rules"] for each in found) / max(len(found), 1), 1),
        "missed": [each["task"] for each in found if not each["section"]],
    }


def table(result: Mapping[str, Any]) -> Iterator[list[str]]:
    yield ["entries", "tasks", "learned", "given", "not as other", "rules a task"]
    for size, row in result["sizes"].items():
        names = ("tasks", "learned", "given", "in_front", "rules")
        yield [size, *(str(row[name]) for name in names)]


def remarks(result: Mapping[str, Any]) -> Iterator[str]:
    for size, row in result["sizes"].items():
        for task in row["missed"]:
            yield f"not given among {size} entries: {task}"
