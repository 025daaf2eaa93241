"""Choose the directives of feedback that are worth keeping, and name the situation of each."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from ace.rules.feedback import directives, permanence, retrospect
from ace.rules.feedback.directives import Directive
from ace.rules.task import Task

KINDS = frozenset({"directive", "preference", "next_time", "worked"})
Category = Literal[
    "architecture", "gotchas", "patterns", "best_practices", "dependencies"
]

CONFIDENCE = {"human": 0.8, "test": 0.7, "environment": 0.7}
# Confidence in an agent's own advice if the task succeeded, and if it did not.
OWN_WORD_PROVEN, OWN_WORD = 0.5, 0.3
MIN_WORDS = 3
MAX_GOAL_WORDS = 12


@dataclass(frozen=True)
class Advice:
    """Advice with its situation, `condition`.

    `goal_span` is set if the condition quotes the goal.
    """

    start: int
    end: int
    condition: str
    action: str
    content: str
    category: Category
    confidence: float
    goal_span: tuple[int, int] | None = None
    cause: str = "PREFERENCE"


_OPENING = re.compile(
    r"(?:when|if|before|after|while|for|in) [^,\n]{3,120}, ", re.IGNORECASE
)
_CLOSING = re.compile(
    r" (?:when|if|before|after|while|unless|whenever) [^,\n]{3,160}$", re.I
)
# Advice that fits every failure. It is dropped, whoever gives it.
_HOLLOW = re.compile(
    r"\b(?:do better|try harder|(?:be )?more careful|be (?:proud|happy|glad|ashamed|pleased)|pay more attention|do (?:it|this) "
    r"(?:right|properly|correctly)|work(?:s)? (?:correctly|properly|as expected))\b",
    re.IGNORECASE,
)
_ARCHITECTURE = re.compile(
    r"\b(?:architecture|layers?|module boundar\w{1,4}|microservices?|bounded context"
    r"|circular import|dependency direction|schema design|event bus|separation of)\b",
    re.IGNORECASE,
)
_DEPENDENCIES = re.compile(
    r"\b(?:dependenc(?:y|ies)|pin(?:ned)?|requirements\.txt|package\.json|lock ?file|pip"
    r"|npm|yarn|poetry|uv|virtualenv|install)\b",
    re.IGNORECASE,
)
_TRAP = re.compile(
    r"\b(?:never|avoid|beware|don['\u2019]t|do not|must not|careful)\b", re.I
)


def find(task: Task, outcome: str) -> list[Advice]:
    """Return the advice to keep."""
    if retrospect.is_review(task):
        own = retrospect.find(task) if outcome == "success" else None
        return list(_of_attempts(task, own)) if own else []
    confidence = CONFIDENCE.get(
        task.feedback_source, OWN_WORD_PROVEN if outcome == "success" else OWN_WORD
    )
    found = []
    for directive in directives.find(task.feedback):
        if _is_kept(task, directive):
            advice = _to_advice(task, directive, confidence)
            found += [advice] if advice else []
    return found


def _of_attempts(task: Task, own: Directive) -> Iterator[Advice]:
    place = retrospect.subject(task.goal) or _short_goal(task.goal)
    if place is None:
        return
    condition, goal_span = place
    action = _lower_first(own.content).rstrip(".")
    yield Advice(
        own.start, own.end, condition, action, f"When {condition}, {action}.",
        "gotchas", OWN_WORD_PROVEN, goal_span, "REQUIREMENT_MISSED",
    )  # fmt: skip


def _is_kept(task: Task, directive: Directive) -> bool:
    """Return whether the advice holds beyond the moment in which it was given."""
    if len(directive.content.split()) < MIN_WORDS or _HOLLOW.search(directive.content):
        return False
    is_about_call = any(directive.sentence in call.result for call in task.calls)
    return permanence.is_lasting(directive, is_about_call=is_about_call)


def _to_advice(task: Task, directive: Directive, confidence: float) -> Advice | None:
    """Return the advice with its situation, or None.

    The situation comes from the words of the advice or from the goal.
    """
    category = _category(directive)
    place = None
    if not directive.is_complete:
        place = _short_goal(task.goal)
        if place is None:
            return None
    if directive.kind == "worked":
        content = _keep_up(directive.content)
        condition, action = "", content.split(":", 1)[0].rstrip(".")
        if place:
            return None
    elif place is None:
        content = directive.content
        condition, action = _split_condition(content)
    else:
        condition, action = place[0], _lower_first(directive.content).rstrip(".")
        content = f"When {condition}, {action}."
    return Advice(
        directive.start, directive.end, condition, action, content, category,
        confidence, place[1] if place else None,
    )  # fmt: skip


_IT_WORKED = re.compile(
    r"(?P<what>[^\n]{3,300}?) (?P<well>(?:worked|works|was effective|paid|helped)\b"
    r"[^\n]{0,300})",
    re.IGNORECASE,
)


def _keep_up(content: str) -> str:
    """Turn "X worked because Y" into advice to keep doing X."""
    praise = _IT_WORKED.fullmatch(content)
    if praise is None:
        return content
    what = _lower_first(praise["what"])
    is_gerund = what.split(" ", 1)[0].endswith("ing")
    return f"Keep {what if is_gerund else f'to {what}'}: this {praise['well']}"


def _split_condition(content: str) -> tuple[str, str]:
    """Split "When X, do Y." or "Do Y before X." into X and Y."""
    text = content.rstrip(".")
    if opening := _OPENING.match(text):
        return opening[0].rstrip(", "), text[opening.end() :]
    if closing := _CLOSING.search(text):
        return closing[0].strip(), text[: closing.start()]
    return "", text


def _short_goal(goal: str) -> tuple[str, tuple[int, int]] | None:
    text = goal.strip().rstrip(".")
    if not text or "\n" in text or '"' in text or len(text.split()) > MAX_GOAL_WORDS:
        return None
    start = goal.index(text)
    return f'the task is "{text}"', (start, start + len(text))


def _lower_first(content: str) -> str:
    first = content.split(" ", 1)[0]
    plain = first.isalpha() and first[1:].islower()
    return content[:1].lower() + content[1:] if plain or len(first) == 1 else content


def _category(directive: Directive) -> Category:
    if directive.kind == "worked":
        return "patterns"
    if _ARCHITECTURE.search(directive.content):
        return "architecture"
    if _DEPENDENCIES.search(directive.content):
        return "dependencies"
    return "gotchas" if _TRAP.search(directive.content) else "best_practices"
