"""Lessons from feedback that says that the answer to a question is right."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ace.rules import causes, corrections, error_signature
from ace.rules import evidence as spans
from ace.rules.evidence import Evidence
from ace.rules.outcome.task_outcome import TaskOutcome
from ace.rules.task import Task
from ace.rules.task_lesson import TaskLesson, is_sound
from common.text import question_focus

CONFIDENCE = 0.7

# The whole feedback is one of these: longer feedback may praise something else.
_CONFIRMED = re.compile(
    r"(?:yes[,.!] {0,2})?(?:that(?:'s| is) |this is |(?:the |your )?answer (?:is|was) )?"
    r"(?:correct|right)(?: answer)?[.!]?",
    re.IGNORECASE,
)
# A name. A number belongs to one case, and a sentence is no answer that can be given again.
_NAME = re.compile(rf"[^\W\d][^\s`]{{1,{corrections.MAX_ANSWER - 1}}}")
# How something is at the moment, and no name.
_STATES = frozenset(
    ["yes", "no", "true", "false", "done", "ok", "okay", "none", "unknown", "null"]
)


def draw(
    task: Task,
    outcome: TaskOutcome,
    evidence: Sequence[Evidence],
    rows: tuple[causes.CauseRow, ...],
) -> Iterator[TaskLesson]:
    """Yield a lesson with the answer that somebody else calls right, if no entry gave it."""
    if outcome.value != "success" or task.follows_entry:
        return
    answer = task.result.strip()
    question = question_focus.find_focus(task.goal) if _is_confirmed(task) else None
    if question is None:
        return
    action = f"answer `{answer}`"
    content = f"When asked {question.words}, {action}."
    quotes = (
        spans.make(
            "question",
            "goal",
            question.start,
            question.end,
            task.goal[question.start : question.end],
        ),
        spans.make("answer", "result", 0, len(task.result), task.result),
        spans.make("confirmation", "feedback", 0, len(task.feedback), task.feedback),
    )
    if is_sound(content, [spans.quote(task, span) for span in quotes]):
        yield TaskLesson(
            condition=question.words,
            action=action,
            content=content,
            category="patterns",
            root_cause="",
            evidence=quotes,
            signature=error_signature.build("confirmation", "", None, content),
            confidence=CONFIDENCE,
        )


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
