"""Count the lessons that each family of rules draws from recorded runs and sessions.

The rules are run alone, without a database: what the gates for texts refuse is left out, and
what needs a person is told by the outcome and by where the words come from. With `--model`,
the configured language model is asked about a sample of the tasks too.
"""

from __future__ import annotations

import itertools
import random
from argparse import ArgumentParser
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.core.management.base import CommandError

from ace.models import AceRun
from ace.reflect import by_model, by_rules
from ace.rules import evidence as spans
from ace.rules import lessons
from ace.rules import task as tasks
from ace.rules.outcome import task_outcome
from ace.rules.outcome.task_outcome import TaskOutcome
from ace.rules.task import Task
from ace.rules.task_lesson import TaskLesson
from bench.datasets import recorded_requests
from bench.datasets.recorded_requests import RecordedRequest
from bench.options import BenchmarkOptions
from inference.models import ModelCall
from playbook.proposals.proposed_change import Producer
from playbook.rule_text import text_gates
from projects import model_access
from projects.models import Project

HELP = "Lessons of each family of rules on recorded runs and sessions, and a sample."
MODEL = "model"
# What people or agents say needs a person, whoever sends it.
SAID = frozenset({"advice", "facts"})
SAMPLE, SEED = 100, 27
MAX_NOTES = 5


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--without",
        action="append",
        default=[],
        choices=lessons.FAMILIES,
        metavar="FAMILY",
        help=f"leave a family out: {', '.join(lessons.FAMILIES)}",
    )
    parser.add_argument("--seed", type=int, default=SEED, help="of the samples")
    parser.add_argument(
        "--model",
        type=int,
        default=0,
        metavar="TASKS",
        help="ask the configured language model about so many of the tasks",
    )


@dataclass
class LessonCount:
    """The lessons of one family; a text counts once, however many runs show it."""

    texts: set[str] = field(default_factory=set)
    live: set[str] = field(default_factory=set)
    runs: int = 0
    refused: int = 0


@dataclass
class ModelCount:
    """The tasks about which the model was asked, and what became of its answers."""

    asked: int = 0
    of_unknown_outcome: int = 0
    without_answer: int = 0
    notes: Counter[str] = field(default_factory=Counter)


def run(options: BenchmarkOptions) -> dict[str, Any]:
    without = frozenset(options.extra["without"])
    counts = {name: LessonCount() for name in lessons.FAMILIES if name not in without}
    shown: dict[str, dict[str, Any]] = {}
    model = ModelCount()
    drawn = _draw_all(options, without)
    if options.extra.get("model"):
        counts[MODEL] = LessonCount()
        drawn = itertools.chain(drawn, _ask_model(options, model))
    for family, lesson, row in drawn:
        count = counts[family]
        if row["refused"]:
            count.refused += 1
            continue
        count.runs += 1
        count.texts.add(lesson.content)
        if row["is_live"]:
            count.live.add(lesson.content)
        shown.setdefault(lesson.content, {"family": family, **row})
    return {
        "without": sorted(without),
        "families": {
            name: {
                "lessons": len(count.texts),
                "live": len(count.live),
                "runs": count.runs,
                "refused": count.refused,
            }
            for name, count in counts.items()
        },
        "sample": _sample(list(shown.values()), options.extra["seed"]),
        "model": {
            "asked": model.asked,
            "of_unknown_outcome": model.of_unknown_outcome,
            "without_answer": model.without_answer,
            "notes": dict(model.notes.most_common(MAX_NOTES)),
        },
    }


def _ask_model(
    options: BenchmarkOptions, count: ModelCount
) -> Iterator[tuple[str, TaskLesson, dict[str, Any]]]:
    """Yield what the model teaches about tasks that the seed draws, one call each."""
    # Nothing of it is stored but the calls, which are deleted.
    project = Project(name="benchmark")
    if not model_access.is_enabled(project):
        raise CommandError("--model needs LANGUAGE_PROVIDER and its settings.")
    recorded = list(recorded_requests.read_all(options.data))
    many = min(options.extra["model"], len(recorded))
    try:
        for each in random.Random(options.extra["seed"]).sample(recorded, many):
            yield from _ask_about(each, project, count)
    finally:
        ModelCall.objects.filter(project_id=project.pk).delete()


def _ask_about(
    recorded: RecordedRequest, project: Project, count: ModelCount
) -> Iterator[tuple[str, TaskLesson, dict[str, Any]]]:
    task = tasks.parse(recorded.request)
    findings = by_rules.reflect(task, project, entries=(), cited_ids=set())
    answer = by_model.reflect(AceRun(project=project), task, findings)
    count.asked += 1
    count.of_unknown_outcome += findings.outcome.value == "unknown"
    count.without_answer += answer.producer.producer != Producer.MODEL
    count.notes.update(answer.notes)
    for lesson in answer.lessons:
        yield MODEL, lesson, _row(recorded, task, findings.outcome, MODEL, lesson)


def _draw_all(
    options: BenchmarkOptions, without: Collection[str]
) -> Iterator[tuple[str, TaskLesson, dict[str, Any]]]:
    for recorded in recorded_requests.read_all(options.data):
        task = tasks.parse(recorded.request)
        outcome = task_outcome.resolve(task)
        for family, lesson in _draw(task, outcome, without):
            yield family, lesson, _row(recorded, task, outcome, family, lesson)


def _draw(
    task: Task,
    outcome: TaskOutcome,
    without: Collection[str],
) -> Iterator[tuple[str, TaskLesson]]:
    """Yield the lessons of a task with their families."""
    found = spans.find(task)
    for name in lessons.FAMILIES:
        others = {other for other in lessons.FAMILIES if other != name}
        if name not in without:
            own = lessons.draw(task, outcome, found, without=others).lessons
            yield from ((name, lesson) for lesson in own)


def _row(
    recorded: RecordedRequest,
    task: Task,
    outcome: TaskOutcome,
    family: str,
    lesson: TaskLesson,
) -> dict[str, Any]:
    quotes = [spans.quote(task, span) for span in lesson.evidence]
    is_known = outcome.value != "unknown" and not lesson.supply
    # The words of people, agents and models need a source beyond the agent.
    trusted = {"human"} if family in SAID else {"human", "test", "environment"}
    is_rule = family not in SAID and family != MODEL
    return {
        "source": recorded.source,
        "run": recorded.name,
        "goal": task.goal[:300],
        "outcome": outcome.value,
        "quotes": quotes,
        "lesson": lesson.content,
        "is_live": is_known and (is_rule or task.feedback_source in trusted),
        "refused": _refusing_gate(lesson.content, quotes),
    }


def _refusing_gate(content: str, quotes: Sequence[str]) -> str:
    """Return the name of the first gate that refuses the text, or ""."""
    checks = (
        text_gates.check_quote(quotes),
        text_gates.check_grounding(content, quotes),
        text_gates.check_actionable(content),
        text_gates.check_specific(content),
        text_gates.check_one_off(content),
        text_gates.check_atomic(content),
    )
    return next((check.name for check in checks if check.verdict == "fail"), "")


def _sample(rows: list[dict[str, Any]], seed: int) -> list[dict[str, Any]]:
    """Draw the rows that a person judges, without what tells who made them."""
    drawn = random.Random(seed).sample(rows, min(SAMPLE, len(rows)))
    keys = ("run", "goal", "outcome", "quotes", "lesson")
    return [{key: row[key] for key in keys} for row in drawn]


def table(result: dict[str, Any]) -> Iterator[list[str]]:
    yield ["family", "lessons", "live without a person", "runs", "refused"]
    for name, count in result["families"].items():
        yield [name, *(str(value) for value in count.values())]
    totals = Counter[str]()
    for count in result["families"].values():
        totals.update(count)
    yield ["all", *(str(totals[key]) for key in ("lessons", "live", "runs", "refused"))]


def remarks(result: dict[str, Any]) -> Iterator[str]:
    yield f"Sample for reading: {len(result['sample'])} lessons (--json writes them)."
    model = result["model"]
    if model["asked"]:
        yield (
            f"The model was asked about {model['asked']} tasks, "
            f"{model['of_unknown_outcome']} of them without a known outcome; "
            f"{model['without_answer']} times it gave no usable answer."
        )
    yield from (f"{count} x {note}" for note, count in model["notes"].items())
