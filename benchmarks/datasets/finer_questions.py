"""Questions with one right tag, and the answerer that needs no language model."""

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

# Tokens of playbook that a question is given (docs/benchmarks.md, "Learning").
BUDGET = 2_000
LEARNED_SHARE = 0.7  # of the questions, when nobody says how many

_BETWEEN_WORDS = re.compile(
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
    """Those to learn from, those to be tested on, and the tags to choose from."""

    learned: list[FinerQuestion]
    tested: list[FinerQuestion]
    tags: list[str]


@dataclass(frozen=True)
class TagAnswer:
    """A tag, and the entry that it follows, if any."""

    tag: str
    entry_id: uuid.UUID | None = None


def load_questions(
    data: Path, *, learn: int | None = None, test: int | None = None
) -> FinerQuestions:
    """Read `questions.jsonl` and `tags.txt` of `data/finer`, or of `data` itself.

    Learned are the first questions, tested the last; by default 70 % and the rest.
    """
    folder = _folder(data)
    with (folder / "questions.jsonl").open(encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines if line.strip()]
    found = [FinerQuestion(str(r["entity"]), r["sentence"], r["tag"]) for r in rows]
    learn = round(len(found) * LEARNED_SHARE) if learn is None else learn
    test = len(found) - learn if test is None else test
    if not (learn >= 0 and test > 0 and learn + test <= len(found)):
        raise CommandError(
            f"{folder} holds {len(found)} questions: too few to learn from {learn} and "
            f"be tested on {test} others. Lower --learn or --test."
        )
    return FinerQuestions(found[:learn], found[-test:], _tags(folder, found))


def _folder(data: Path) -> Path:
    for folder in (data / "finer", data):
        if (folder / "questions.jsonl").is_file():
            return folder
    raise CommandError(
        f"{data} holds no finer/questions.jsonl. Name a folder of the layout in "
        "docs/benchmarks.md with --data or BENCHMARK_DATA."
    )


def _tags(folder: Path, questions: Sequence[FinerQuestion]) -> list[str]:
    """The tags of the file, and any that only a question has."""
    path = folder / "tags.txt"
    listed = path.read_text(encoding="utf-8").split("\n") if path.is_file() else []
    named = [*map(str.strip, listed), *sorted({q.tag for q in questions})]
    return list(dict.fromkeys(filter(None, named)))


def tag_words(tag: str) -> str:
    """A tag's name as plain words: `DebtInstrumentFaceAmount` is four of them."""
    return " ".join(_BETWEEN_WORDS.split(tag)).lower()


class TagAnswerer:
    """Fixed: the tag whose name is nearest, unless the playbook says.

    It follows the entry of the rendered playbook that speaks most of the question,
    when that one passes the relevance gate and its action names a tag.
    """

    def __init__(self, project: Project, tags: Sequence[str]) -> None:
        self.project = project
        vectors = active_model.get().embed([tag_words(tag) for tag in tags])
        self._vectors = dict(zip(tags, vectors, strict=True))
        self._nearest: dict[FinerQuestion, str] = {}

    def answer(self, question: FinerQuestion) -> TagAnswer:
        followed = self._followed(question)
        if followed:
            entry, tag = followed
            return TagAnswer(tag, entry.pk)
        return TagAnswer(self.without_playbook(question))

    def without_playbook(self, question: FinerQuestion) -> str:
        if question not in self._nearest:
            asked = f"{question.entity}: {question.sentence}"
            (vector,) = active_model.get().embed([asked])
            self._nearest[question] = _nearest(vector, self._vectors)
        return self._nearest[question]

    def _followed(
        self, question: FinerQuestion
    ) -> tuple[renderer.EntryRow, str] | None:
        rendered = renderer.render(
            self.project, SYSTEM, task=question.goal, budget=BUDGET
        )
        # Best first; a pinned entry that is below the gate is passed over.
        for given in rendered.rendered_entries:
            tag = self._named(given.entry) if given.is_relevant else None
            if tag:
                return given.entry, tag
        return None

    def _named(self, entry: renderer.EntryRow) -> str | None:
        """The one tag that an entry's action names."""
        known = [
            tag for tag in literals.find_literals(entry.action) if tag in self._vectors
        ]
        return known[0] if len(known) == 1 else None


def _nearest(vector: Sequence[float], candidates: Mapping[str, Sequence[float]]) -> str:
    return max(candidates, key=lambda tag: sum(map(mul, vector, candidates[tag])))


def request(question: FinerQuestion, answer: TagAnswer) -> dict[str, Any]:
    """A complete-task request that nobody has judged yet."""
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
    """The request with what an environment says to the answer."""
    is_right = task["result"] == right
    told = "Correct." if is_right else f"Expected `{right}`, got `{task['result']}`."
    return {
        **task,
        "feedback": told,
        "feedback_source": "environment",
        "outcome": "success" if is_right else "failure",
    }
