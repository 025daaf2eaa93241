"""Find the right answer in feedback that corrects a wrong one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from ace.rules import evidence as spans
from ace.rules.evidence import Evidence
from ace.rules.outcome import task_outcome
from ace.rules.task import Task
from common.text import question_focus

# In characters. A longer answer is a piece of writing, not a value.
MAX_ANSWER = 160
MAX_FEEDBACK = 20_000


@dataclass(frozen=True)
class Correction:
    """The right and the wrong answer to a question.

    `condition` is the question. `evidence` contains the span of each part.
    """

    condition: str
    right: str
    wrong: str
    evidence: tuple[Evidence, ...]

    @property
    def action(self) -> str:
        return f"answer `{self.right}`"

    @property
    def content(self) -> str:
        """Return the lesson without the wrong answer; only the evidence has the wrong answer.

        If the content had the wrong answer, the entry would match questions about that
        answer. In the benchmark, such entries lost half of the gain.
        """
        return f"When asked {self.condition}, {self.action}."


def find(task: Task) -> Correction | None:
    """Return the correction if the feedback names both the result and the right answer.

    Return None if the question is too long to tell its subject.
    """
    refutation = _find_refutation(task)
    question = question_focus.find_focus(task.goal) if refutation else None
    if refutation is None or question is None:
        return None
    right = _bare(refutation["expected"])
    if not right or "`" in right or "\n" in right:
        return None
    quotes = tuple(_quotes(task, refutation.start(), refutation.end(), question))
    return Correction(question.words, right, task.result.strip(), quotes)


def wrong_answer(task: Task) -> str:
    """Return the answer that the feedback refutes, or an empty string."""
    return task.result.strip() if _find_refutation(task) else ""


def _find_refutation(task: Task) -> re.Match[str] | None:
    """Return the first match in the feedback that expects a different answer from the result."""
    answer = task.result.strip()
    if not answer or len(answer) > MAX_ANSWER:
        return None
    for refutation in task_outcome.EXPECTED_AND_GOT.finditer(
        task.feedback[:MAX_FEEDBACK]
    ):
        expected, got = _bare(refutation["expected"]), _bare(refutation["got"])
        if got == _bare(answer) and expected != got:
            return refutation
    return None


def _bare(value: str) -> str:
    return value.strip().rstrip(".").strip("\"'`[] ")


def _quotes(
    task: Task, start: int, end: int, question: question_focus.QuestionFocus
) -> Iterator[Evidence]:
    text = task.goal[question.start : question.end]
    yield spans.make("question", "goal", question.start, question.end, text)
    text = task.feedback[start:end]
    yield spans.make("expectation", "feedback", start, end, text)
    yield spans.make("answer", "result", 0, len(task.result), task.result)
