"""Questions with one right tag each, and an answerer that needs no language model."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import mul
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from common.caller import SYSTEM
from common.text import literals
from inference.embedding import active_model
from playbook.reading import renderer
from projects.models import Project

# The answerer reads at most this many tokens of the playbook for an answer
# (docs/benchmarks.md, "Learning").
BUDGET = 2_000
# Share of the questions to learn from, unless an option sets their number.
LEARN_SHARE = 0.7

_WORD_BREAK = re.compile(
    r"(?<=[a-z])(?=[A-Z0-9])|(?<=[A-Z])(?=[A-Z][a-z])|(?<=\d)(?=[A-Z])|[_\s-]+"
)


@dataclass(frozen=True)
class FinerQuestion:
    entity: str
    sentence: str
    tag: str

    @property
    def goal(self) -> str:
        return f'Which tag has "{self.entity}" in this sentence?\n{self.sentence}'


@dataclass(frozen=True)
class FinerQuestions:
    """The questions to learn from, the questions to test with, and the possible tags."""

    to_learn: list[FinerQuestion]
    to_test: list[FinerQuestion]
    tags: list[str]


@dataclass(frozen=True)
class TagAnswer:
    """A tag, and the entry that named the tag; None if no entry named one."""

    tag: str
    entry_id: uuid.UUID | None = None


def load_questions(
    data: Path, *, learn: int | None = None, test: int | None = None
) -> FinerQuestions:
    """Read `questions.jsonl` and `tags.txt` in `data/finer`, or in `data` itself.

    By default, the first 70 % of the questions are for learning, and the last 30 % are
    for testing.
    """
    folder = _folder(data)
    with (folder / "questions.jsonl").open(encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines if line.strip()]
    questions = [FinerQuestion(str(r["entity"]), r["sentence"], r["tag"]) for r in rows]
    learn = round(len(questions) * LEARN_SHARE) if learn is None else learn
    test = len(questions) - learn if test is None else test
    if not (learn >= 0 and test > 0 and learn + test <= len(questions)):
        raise CommandError(
            f"{folder} holds {len(questions)} questions: too few to learn from {learn} and "
            f"be tested on {test} others. Lower --learn or --test."
        )
    return FinerQuestions(
        questions[:learn], questions[-test:], _tags(folder, questions)
    )


def _folder(data: Path) -> Path:
    for folder in (data / "finer", data):
        if (folder / "questions.jsonl").is_file():
            return folder
    raise CommandError(
        f"{data} holds no finer/questions.jsonl. Name a folder of the layout in "
        "docs/benchmarks.md with --data or BENCH_DATA."
    )


def _tags(folder: Path, questions: Sequence[FinerQuestion]) -> list[str]:
    """Return the tags of the file, and further tags that only the questions contain."""
    path = folder / "tags.txt"
    lines = path.read_text(encoding="utf-8").split("\n") if path.is_file() else []
    tags = [*map(str.strip, lines), *sorted({q.tag for q in questions})]
    return list(dict.fromkeys(filter(None, tags)))


def tag_words(tag: str) -> str:
    """Split a tag's name into words: `DebtInstrumentFaceAmount` has four."""
    return " ".join(_WORD_BREAK.split(tag)).lower()


class TagAnswerer:
    """Answers on the rules alone, with the tag that an entry names.

    If no entry names a tag, the answer is the tag whose name is nearest to the
    question.

    Only an entry of the rendered playbook counts. It must pass the relevance gate, and
    its action must name exactly one tag. The most relevant of these entries is used.
    """

    def __init__(self, project: Project, tags: Sequence[str]) -> None:
        self.project = project
        vectors = active_model.get().embed([tag_words(tag) for tag in tags])
        self._vectors = dict(zip(tags, vectors, strict=True))
        self._question_vectors: dict[FinerQuestion, Sequence[float]] = {}
        self._nearest: dict[FinerQuestion, str] = {}

    def answer(self, question: FinerQuestion) -> TagAnswer:
        choice = self._choose_entry(question)
        if choice:
            entry, tag = choice
            return TagAnswer(tag, entry.pk)
        return TagAnswer(self.without_playbook(question))

    def without_playbook(self, question: FinerQuestion) -> str:
        if question not in self._nearest:
            vector = self.embed(question)
            self._nearest[question] = _nearest(vector, self._vectors)
        return self._nearest[question]

    def is_tag(self, name: str) -> bool:
        return name in self._vectors

    def embed(self, question: FinerQuestion) -> Sequence[float]:
        """Return the vector of the entity and its sentence."""
        if question not in self._question_vectors:
            text = f"{question.entity}: {question.sentence}"
            (self._question_vectors[question],) = active_model.get().embed([text])
        return self._question_vectors[question]

    def _choose_entry(
        self, question: FinerQuestion
    ) -> tuple[renderer.EntryRow, str] | None:
        rendered = renderer.render(
            self.project, SYSTEM, task=question.goal, budget=BUDGET
        )
        # The best entry comes first. A pinned entry that is below the gate is skipped.
        for row in rendered.rendered_entries:
            tag = self._named_tag(row.entry) if row.is_relevant else None
            if tag:
                return row.entry, tag
        return None

    def _named_tag(self, entry: renderer.EntryRow) -> str | None:
        """Return the tag that an entry names, if it names exactly one."""
        tags = [
            tag for tag in literals.find_literals(entry.content) if tag in self._vectors
        ]
        return tags[0] if len(tags) == 1 else None


def _nearest(vector: Sequence[float], candidates: Mapping[str, Sequence[float]]) -> str:
    return max(candidates, key=lambda tag: sum(map(mul, vector, candidates[tag])))


def request(question: FinerQuestion, answer: TagAnswer) -> dict[str, Any]:
    """Build the request that completes a task with this answer, without feedback."""
    cited = [str(answer.entry_id)] if answer.entry_id else []
    return {
        "agent_id": "benchmark",
        "goal": question.goal,
        "result": answer.tag,
        "tool_usage": [],
        "feedback": "",
        "cited_entry_ids": cited,
    }


def judged_request(task: Mapping[str, Any], right: str) -> dict[str, Any]:
    """Return the request with feedback on its answer, as an environment gives it."""
    is_right = task["result"] == right
    feedback = (
        "Correct." if is_right else f"Expected `{right}`, got `{task['result']}`."
    )
    return {
        **task,
        "feedback": feedback,
        "feedback_source": "environment",
        "outcome": "success" if is_right else "failure",
    }
