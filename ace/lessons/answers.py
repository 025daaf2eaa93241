"""Teach the right answer to a question, from feedback that corrects or confirms an answer."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ace.task import task_outcome
from ace.task.task import Task
from ace.task.task_outcome import TaskOutcome
from common.text import question_focus
from common.text.question_focus import QuestionFocus
from playbook.lessons.lesson import Kind, Lesson, Quote

CORRECTED, CONFIRMED = 0.8, 0.7  # the confidence
# In characters. A longer answer is a piece of writing, not a value.
MAX_ANSWER = 160
MAX_FEEDBACK = 20_000

# The whole feedback is one of these: longer feedback may praise something else.
_CONFIRMED = re.compile(
    r"(?:yes[,.!] {0,2})?(?:that(?:'s| is) |this is |(?:the |your )?answer (?:is|was) )?"
    r"(?:correct|right)(?: answer)?[.!]?",
    re.IGNORECASE,
)
# A name. A number belongs to one case, and a sentence is no answer that can be given again.
_NAME = re.compile(rf"[^\W\d][^\s`]{{1,{MAX_ANSWER - 1}}}")
# How something is at the moment, and no name.
_STATES = frozenset(
    ["yes", "no", "true", "false", "done", "ok", "okay", "none", "unknown", "null"]
)


def find(task: Task, outcome: TaskOutcome) -> Iterator[Lesson]:
    """Yield the right answer to the question of the task, if the feedback has it."""
    if outcome.value in ("failure", "partial"):
        yield from _corrected(task)
    elif outcome.value == "success" and not task.follows_entry and _is_confirmed(task):
        feedback = Quote(task.feedback, "feedback", 0, len(task.feedback))
        yield from _lesson(task, task.result.strip(), feedback, CONFIRMED)


def wrong_answer(task: Task) -> str:
    """Return the answer that the feedback refutes, or an empty string."""
    return task.result.strip() if _find_refutation(task) else ""


def _corrected(task: Task) -> Iterator[Lesson]:
    refutation = _find_refutation(task)
    right = _bare(refutation["expected"]) if refutation else ""
    if refutation and right and "`" not in right and "\n" not in right:
        quote = Quote(refutation[0], "feedback", *refutation.span())
        yield from _lesson(task, right, quote, CORRECTED)


def _lesson(
    task: Task, answer: str, feedback: Quote, confidence: float
) -> Iterator[Lesson]:
    """Yield the lesson without a wrong answer, which only the quotes have.

    If the content had it, the rule would match questions about that answer. In the
    benchmark, such rules lost half of the gain.
    """
    question = question_focus.find_focus(task.goal)
    if question is None:
        return
    yield Lesson(
        content=f"When asked {question.words}, answer `{answer}`.",
        kind=Kind.ANSWER,
        quotes=(
            _quote_question(task, question),
            feedback,
            Quote(task.result, "result", 0, len(task.result)),
        ),
        category="gotchas" if confidence == CORRECTED else "patterns",
        confidence=confidence,
    )


def _quote_question(task: Task, question: QuestionFocus) -> Quote:
    start, end = question.start, question.end
    return Quote(task.goal[start:end], "goal", start, end)


def _is_confirmed(task: Task) -> bool:
    """Whether somebody else than the agent calls a name right that answers a question."""
    answer = task.result.strip()
    return bool(
        task.feedback_source != "agent"
        and "?" in task.goal
        and _CONFIRMED.fullmatch(task.feedback.strip())
        and _NAME.fullmatch(answer)
        and answer.casefold() not in _STATES
    )


def _find_refutation(task: Task) -> re.Match[str] | None:
    """Return the first match in the feedback that expects another answer than the result."""
    answer = task.result.strip()
    if not answer or len(answer) > MAX_ANSWER:
        return None
    feedback = task.feedback[:MAX_FEEDBACK]
    for refutation in task_outcome.EXPECTED_AND_GOT.finditer(feedback):
        expected, got = _bare(refutation["expected"]), _bare(refutation["got"])
        if got == _bare(answer) and expected != got:
            return refutation
    return None


def _bare(value: str) -> str:
    return value.strip().rstrip(".").strip("\"'`[] ")
