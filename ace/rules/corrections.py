"""An answer that was wrong, and what it should have been: the lesson is both's."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from ace.rules import evidence as spans
from ace.rules.evidence import Evidence
from ace.rules.outcome import task_outcome
from ace.rules.task import Task
from common.text import question_focus

# A value that an agent can be told to answer; more is a text to be written.
MAX_ANSWER = 160
MAX_FEEDBACK = 20_000


@dataclass(frozen=True)
class Correction:
    """`condition` is what was asked; `evidence` says where each part stands."""

    condition: str
    right: str
    wrong: str
    evidence: tuple[Evidence, ...]

    @property
    def action(self) -> str:
        return f"answer `{self.right}`"

    @property
    def content(self) -> str:
        """The lesson. What was answered instead is left to the evidence.

        In the text it would draw the entry to questions about that wrong answer:
        measured, half of the gain was lost.
        """
        return f"When asked {self.condition}, {self.action}."


def find(task: Task) -> Correction | None:
    """The correction of a whole answer: feedback tells the right one and this one.

    None when the question is too long to say what it was about.
    """
    told = _find_refutation(task)
    asked = question_focus.find_focus(task.goal) if told else None
    if told is None or asked is None:
        return None
    right = _bare(told["expected"])
    if not right or "`" in right or "\n" in right:
        return None
    held = tuple(_quotes(task, told.start(), told.end(), asked))
    return Correction(asked.words, right, task.result.strip(), held)


def wrong_answer(task: Task) -> str:
    """The answer that the feedback refutes, or nothing."""
    return task.result.strip() if _find_refutation(task) else ""


def _find_refutation(task: Task) -> re.Match[str] | None:
    """The first words of the feedback that expect another answer than the result."""
    answer = task.result.strip()
    if not answer or len(answer) > MAX_ANSWER:
        return None
    for told in task_outcome.EXPECTED_AND_GOT.finditer(task.feedback[:MAX_FEEDBACK]):
        expected, got = _bare(told["expected"]), _bare(told["got"])
        if got == _bare(answer) and expected != got:
            return told
    return None


def _bare(value: str) -> str:
    return value.strip().rstrip(".").strip("\"'`[] ")


def _quotes(
    task: Task, start: int, end: int, asked: question_focus.QuestionFocus
) -> Iterator[Evidence]:
    question = task.goal[asked.start : asked.end]
    yield spans.make("question", "goal", asked.start, asked.end, question)
    told = task.feedback[start:end]
    yield spans.make("expectation", "feedback", start, end, told)
    yield spans.make("answer", "result", 0, len(task.result), task.result)
