"""How much a playbook helps that was learned from feedback alone, without a model."""

from __future__ import annotations

import random
import uuid
from argparse import ArgumentParser
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ace import run as runs
from benchmarks import finer, learning_plot, scratch
from benchmarks.finer import Answerer, Question, Questions
from benchmarks.options import Options
from benchmarks.progress import Bar
from common.caller import SYSTEM
from inference import tokens
from playbook.models import (
    Playbook,
    PlaybookChange,
    PlaybookDelta,
    PlaybookEntry,
    line,
)
from projects.models import Project

HELP = "Accuracy on unseen questions while a playbook is learned from feedback."
CHECKPOINTS = (0, 50, 250, 700, 1_400)
# What the environment says may be acted on without a person, retiring entries too.
SETTINGS = {"policy": "auto"}
# Never worse than this many points below no playbook, gained at least this many, at
# most this share of the tokens of append-only.
MOST_LOST, LEAST_GAIN, MOST_TOKENS = 1.0, 12.0, 0.5


@dataclass
class Learned:
    """What the loop has seen; `poisoned` are the runs whose feedback was false."""

    curve: list[dict[str, Any]] = field(default_factory=list)
    poisoned: list[uuid.UUID] = field(default_factory=list)
    append_only: int = 0


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--learn", type=int, help="questions to learn from, the first")
    parser.add_argument("--test", type=int, help="questions to be tested on, the last")
    parser.add_argument(
        "--poison", type=int, default=0, metavar="N", help="feedback to every Nth lies"
    )
    parser.add_argument(
        "--withhold", action="store_true", help="give no feedback at all"
    )
    parser.add_argument("--plot", type=Path, help="draw the curve as SVG to this file")


def run(options: Options) -> dict[str, Any]:
    given = options.given
    questions = finer.load(options.data, learn=given["learn"], test=given["test"])
    with scratch.project("learning", keep=options.keep, settings=SETTINGS) as project:
        learned = learn(
            project, questions, poison=given["poison"], withhold=given["withhold"]
        )
        result = _shown(project, learned) | {
            "learned": len(questions.learned),
            "tested": len(questions.tested),
            "poison": given["poison"],
            "withheld": given["withhold"],
        }
    if given["plot"]:
        given["plot"].write_text(learning_plot.svg(result["curve"]), encoding="utf-8")
    return result


def learn(
    project: Project, questions: Questions, *, poison: int = 0, withhold: bool = False
) -> Learned:
    """Answer, complete and be told, one question after another; test on the way."""
    learned = Learned()
    answerer = Answerer(project, questions.tags)
    stops = _stops(len(questions.learned))
    bar = Bar("learning: tasks", len(questions.learned))
    for number, question in enumerate(questions.learned):
        if number in stops:
            learned.curve.append(_point(number, answerer, questions.tested))
        is_poisoned = poison > 0 and (number + 1) % poison == 0
        task = finer.request(question, answerer.answer(question))
        if not withhold:
            right = _false(question, questions, number) if is_poisoned else question.tag
            task = finer.judged(task, right)
        done = runs.complete(project, task, SYSTEM)
        if is_poisoned:
            learned.poisoned.append(done.pk)
        learned.append_only += verbatim_tokens(question)
        bar.show(number + 1)
    learned.curve.append(_point(len(questions.learned), answerer, questions.tested))
    return learned


def _stops(last: int) -> set[int]:
    return {stop for stop in CHECKPOINTS if stop < last}


def _false(question: Question, questions: Questions, number: int) -> str:
    """Another tag, the same one in every run."""
    others = [tag for tag in questions.tags if tag != question.tag]
    return random.Random(number).choice(others)


def _point(tasks: int, answerer: Answerer, tested: list[Question]) -> dict[str, Any]:
    bar = Bar(f"learning: test after {tasks}", len(tested))
    right = [answerer.answer(q).tag == q.tag for q in bar.over(tested)]
    live = PlaybookEntry.objects.current().filter(project=answerer.project)
    playbook = Playbook.objects.filter(project=answerer.project).first()
    return {
        "tasks": tasks,
        "accuracy": round(sum(right) / len(right), 4),
        "entries": live.count(),
        "tokens": playbook.tokens if playbook else 0,
    }


def verbatim_tokens(question: Question) -> int:
    """What append-only keeps of a task: question and right answer, word for word."""
    return tokens.estimate(
        line("gotchas-00000", f"{question.goal} Answer: `{question.tag}`.")
    )


def _shown(project: Project, learned: Learned) -> dict[str, Any]:
    deltas = PlaybookDelta.objects.filter(project=project)
    votes = PlaybookChange.objects.filter(project_id=project.pk, action="vote")
    return {
        "curve": learned.curve,
        "deltas": _counted(f"{d.operation} {d.status}" for d in deltas.iterator()),
        "votes": _counted(
            kind
            for change in votes.only("after").iterator()
            for kind in ("helpful", "harmful", "neutral")
            if kind in change.after
        ),
        "append_only_tokens": learned.append_only,
        "poisoned": _counted(map(_fate, _poisoned(project, learned))),
    }


def _counted(names: Iterator[str]) -> dict[str, int]:
    return dict(sorted(Counter(names).items()))


def _poisoned(project: Project, learned: Learned) -> Iterator[PlaybookEntry]:
    """The entries that false feedback made."""
    made = PlaybookDelta.objects.filter(
        project=project, run_id__in=learned.poisoned, operation="add"
    )
    rows = PlaybookEntry.objects.light().filter(pk__in=made.values("entry_id"))
    yield from rows.order_by("pk")


def _fate(entry: PlaybookEntry) -> str:
    """What became of an entry; one that nobody followed again has done no harm."""
    if not entry.is_live:
        return str(entry.status)
    if entry.is_contested:
        return "contested"
    return "trusted" if entry.helpful else "never followed"


def table(result: Mapping[str, Any]) -> Iterator[list[str]]:
    yield ["tasks learned", "accuracy", "gain", "entries", "tokens"]
    base = result["curve"][0]["accuracy"]
    for point in result["curve"]:
        yield [
            str(point["tasks"]),
            f"{point['accuracy']:.1%}",
            f"{100 * (point['accuracy'] - base):+.1f}",
            str(point["entries"]),
            str(point["tokens"]),
        ]


def remarks(result: Mapping[str, Any]) -> Iterator[str]:
    curve = result["curve"]
    gains = [100 * (p["accuracy"] - curve[0]["accuracy"]) for p in curve]
    yield (
        f"gain {gains[-1]:+.1f} points (at least +{LEAST_GAIN:g}), lowest "
        f"{min(gains):+.1f} (at least -{MOST_LOST:g})"
    )
    share = curve[-1]["tokens"] / max(result["append_only_tokens"], 1)
    yield (
        f"tokens: {share:.2f} of the {result['append_only_tokens']} that the questions "
        f"and answers take word for word (at most {MOST_TOKENS:g})"
    )
    for name in ("deltas", "votes", "poisoned"):
        if told := result[name]:
            yield f"{name}: {', '.join(f'{n} {what}' for what, n in told.items())}"
