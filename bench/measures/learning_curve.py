"""Measure how much a playbook that was learned from feedback helps.

No language model is needed.
"""

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
from bench.datasets import finer_questions
from bench.datasets.finer_answers import ContextAnswerer, ExampleVote
from bench.datasets.finer_questions import (
    FinerQuestion,
    FinerQuestions,
    TagAnswerer,
)
from bench.fixtures import temp_project
from bench.options import BenchmarkOptions
from bench.report import curve_chart
from bench.report.progress_bar import ProgressBar
from common.caller import SYSTEM
from inference import tokens
from playbook.models import (
    Playbook,
    PlaybookChange,
    PlaybookDelta,
    PlaybookEntry,
    format_line,
)
from projects.models import Project

HELP = "Accuracy on unseen questions while a playbook is learned from feedback."
CHECKPOINTS = (0, 50, 250, 700, 1_400)
# With this policy, proposals from an environment's feedback need no person. This
# includes proposals that retire entries.
SETTINGS = {"policy": "auto"}
# The points that the playbook may lose at most against no playbook, the share of the gain
# of a vote of all examples that it must reach, and the largest allowed share of the
# tokens of an append-only playbook.
MAX_LOSS, MIN_SHARE, MAX_TOKENS = 1.0, 0.9, 0.5


# The keys of the accuracies of a point, in the order of the table.
ANSWERERS = ("accuracy", "context_accuracy", "vote_accuracy")


@dataclass
class LearningResult:
    """What one run of the learning loop measured.

    `curve` has a row for each checkpoint. The feedback of the `poisoned_runs` was
    false.
    """

    curve: list[dict[str, Any]] = field(default_factory=list)
    poisoned_runs: list[uuid.UUID] = field(default_factory=list)
    append_only: int = 0


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--learn", type=int, help="number of questions to learn from")
    parser.add_argument("--test", type=int, help="number of questions to test on")
    parser.add_argument(
        "--poison",
        type=int,
        default=0,
        metavar="N",
        help="make every Nth feedback false",
    )
    parser.add_argument(
        "--withhold", action="store_true", help="give no feedback at all"
    )
    parser.add_argument("--plot", type=Path, help="draw the curve as SVG to this file")


def run(options: BenchmarkOptions) -> dict[str, Any]:
    extra = options.extra
    questions = finer_questions.load_questions(
        options.data, learn=extra["learn"], test=extra["test"]
    )
    with temp_project.create_project(
        "learning", keep=options.keep, settings=SETTINGS
    ) as project:
        learned = learn(
            project, questions, poison=extra["poison"], withhold=extra["withhold"]
        )
        result = _result(project, learned) | {
            "learned": len(questions.to_learn),
            "tested": len(questions.to_test),
            "poison": extra["poison"],
            "withheld": extra["withhold"],
        }
    if extra["plot"]:
        extra["plot"].write_text(
            curve_chart.draw_curve(result["curve"]), encoding="utf-8"
        )
    return result


def learn(
    project: Project,
    questions: FinerQuestions,
    *,
    poison: int = 0,
    withhold: bool = False,
) -> LearningResult:
    """Answer questions, and complete their tasks with feedback.

    At each checkpoint, test the playbook.
    """
    learned = LearningResult()
    answerer = TagAnswerer(project, questions.tags)
    stops = _checkpoints(len(questions.to_learn))
    bar = ProgressBar("learning: tasks", len(questions.to_learn))
    for number, question in enumerate(questions.to_learn):
        if number in stops:
            learned.curve.append(_point(number, answerer, questions))
        is_poisoned = poison > 0 and (number + 1) % poison == 0
        task = finer_questions.request(question, answerer.answer(question))
        if not withhold:
            right = (
                _false_tag(question, questions, number) if is_poisoned else question.tag
            )
            task = finer_questions.judged_request(task, right)
        run = runs.complete(project, task, SYSTEM)
        if is_poisoned:
            learned.poisoned_runs.append(run.pk)
        learned.append_only += verbatim_tokens(question)
        bar.show(number + 1)
    learned.curve.append(_point(len(questions.to_learn), answerer, questions))
    return learned


def _checkpoints(last: int) -> set[int]:
    return {stop for stop in CHECKPOINTS if stop < last}


def _false_tag(question: FinerQuestion, questions: FinerQuestions, number: int) -> str:
    """Return a wrong tag for the question; it is the same tag in every benchmark run."""
    others = [tag for tag in questions.tags if tag != question.tag]
    return random.Random(number).choice(others)


def _point(
    tasks: int, answerer: TagAnswerer, questions: FinerQuestions
) -> dict[str, Any]:
    live = PlaybookEntry.objects.current().filter(project=answerer.project)
    playbook = Playbook.objects.filter(project=answerer.project).first()
    tested = questions.to_test
    by_context = ContextAnswerer(answerer)
    votes = ExampleVote(answerer, questions.to_learn[:tasks])
    bar = ProgressBar(f"learning: test after {tasks}", len(tested))
    right = [
        (
            answerer.answer(question).tag == question.tag,
            by_context.answer(question) == question.tag,
            votes.answer(question) == question.tag,
        )
        for question in bar.over(tested)
    ]
    rules, context, vote = (round(sum(c) / len(c), 4) for c in zip(*right, strict=True))
    return {
        "tasks": tasks,
        "accuracy": rules,
        "context_accuracy": context,
        "vote_accuracy": vote,
        "entries": live.count(),
        "tokens": playbook.tokens if playbook else 0,
    }


def verbatim_tokens(question: FinerQuestion) -> int:
    """Return the number of tokens of the question with its right answer.

    An append-only playbook would keep this text for each question.
    """
    return tokens.estimate(
        format_line("gotchas-00000", f"{question.goal} Answer: `{question.tag}`.")
    )


def _result(project: Project, learned: LearningResult) -> dict[str, Any]:
    deltas = PlaybookDelta.objects.filter(project=project)
    votes = PlaybookChange.objects.filter(project_id=project.pk, action="vote")
    return {
        "curve": learned.curve,
        "deltas": _counts(f"{d.operation} {d.status}" for d in deltas.iterator()),
        "votes": _counts(
            kind
            for change in votes.only("after").iterator()
            for kind in ("helpful", "harmful", "neutral")
            if kind in change.after
        ),
        "append_only_tokens": learned.append_only,
        "poisoned": _counts(map(_fate, _poisoned_entries(project, learned))),
    }


def _counts(names: Iterator[str]) -> dict[str, int]:
    return dict(sorted(Counter(names).items()))


def _poisoned_entries(
    project: Project, learned: LearningResult
) -> Iterator[PlaybookEntry]:
    """Return the entries that false feedback created."""
    additions = PlaybookDelta.objects.filter(
        project=project, run_id__in=learned.poisoned_runs, operation="add"
    )
    rows = PlaybookEntry.objects.light().filter(pk__in=additions.values("entry_id"))
    yield from rows.order_by("pk")


def _fate(entry: PlaybookEntry) -> str:
    """Return what became of an entry that false feedback created.

    The entry did no harm if no answer followed it.
    """
    if not entry.is_live:
        return str(entry.status)
    if entry.is_doubted:
        return "contested"
    return "trusted" if entry.helpful else "never followed"


def table(result: Mapping[str, Any]) -> Iterator[list[str]]:
    yield [
        "tasks learned",
        "rules alone",
        "gain",
        "context of the task",
        "gain",
        "vote of examples",
        "gain",
        "entries",
        "tokens",
    ]
    base = result["curve"][0]["accuracy"]
    for point in result["curve"]:
        yield [
            str(point["tasks"]),
            *(
                cell
                for name in ANSWERERS
                for cell in (f"{point[name]:.1%}", f"{100 * (point[name] - base):+.1f}")
            ),
            str(point["entries"]),
            str(point["tokens"]),
        ]


def remarks(result: Mapping[str, Any]) -> Iterator[str]:
    curve = result["curve"]
    base = curve[0]["accuracy"]
    gains = [100 * (point["accuracy"] - base) for point in curve]
    vote = 100 * (curve[-1]["vote_accuracy"] - base)
    yield (
        f"rules alone: gain {gains[-1]:+.1f} points, "
        f"{gains[-1] / vote if vote > 0 else 0:.2f} of the {vote:+.1f} of the vote (at "
        f"least {MIN_SHARE:g}); lowest {min(gains):+.1f} (at least -{MAX_LOSS:g})"
    )
    share = curve[-1]["tokens"] / max(result["append_only_tokens"], 1)
    yield (
        f"tokens: {share:.2f} of the {result['append_only_tokens']} that the questions "
        f"and answers take word for word (at most {MAX_TOKENS:g})"
    )
    for name in ("deltas", "votes", "poisoned"):
        if counts := result[name]:
            yield f"{name}: {', '.join(f'{n} {what}' for what, n in counts.items())}"
