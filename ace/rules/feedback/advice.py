"""Choose the directives of feedback that are worth keeping, and name the situation of each."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from ace.rules import groundedness
from ace.rules.feedback import directives
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
MIN_OWN_WORDS = 7
MAX_GOAL_WORDS = 12
# If more of the words are literals, the text describes one input, not a rule.
MAX_LITERALS = 0.25


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


_SIGNATURE = re.compile(
    r"^[ \t]{0,16}(?:pub |async |static |export ){0,3}(?:def|fn|func|function) "
    r"(?P<name>[A-Za-z_]\w{0,80})[ ]?[(<]",
    re.MULTILINE,
)
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
# An agent that does not know why the code failed uses these phrases.
_VAGUE = re.compile(
    r"\b(?:re-?(?:evaluate|visit|consider|think|vise|view|examine|work)\w{0,4}"
    r"|improve[ds]?|optimi[sz]\w{1,4}|more (?:comprehensive|careful|accurate|thorough|robust"
    r"|efficient)|different (?:approach|algorithm|method|strategy)"
    r"|(?:modify|adjust|change|update|fix|correct) (?:the|our|your) (?:\w{1,20} ){0,2}"
    r"(?:logic|code|implementation|approach|algorithm|condition|calculation|function"
    r"|solution)"
    r"|be (?:updated|modified|fixed|adjusted|corrected|resolved|changed|careful|better)"
    r"|(?:correctly|properly|better|accurately) (?:handle|account|calculate|identify|consider"
    r"|implement|process)\w{0,3}|(?:handled|calculated|implemented|considered|checked) "
    r"(?:properly|correctly|accurately)|handle all|all (?:possible )?(?:edge )?cases"
    r"|work(?:s)? (?:correctly|properly|as expected)|do better|try harder|be more careful"
    r"|ensure (?:that )?(?:the|it|all)|make sure (?:that )?(?:the (?:logic|code|function)"
    r"|it|all)|verify that|(?:find|use|consider) (?:a|an|the) (?:better|correct|proper|right)"
    r"|taken? into account|should consider|should account)\b",
    re.IGNORECASE,
)
# Phrases that make a vague verb concrete.
_CONCRETE = re.compile(
    r"\b(?:by \w{3,20}ing|instead of|rather than|to (?:include|exclude|check if|check for"
    r"|range)|only (?:if|when)|from (?:left|right|the))\b",
    re.IGNORECASE,
)
_ONE_RUN = re.compile(
    r"\b(?:test cases?|failed tests?|failing tests?|(?:first|second|given|this|last)"
    r" (?:example|test)|the input (?:is )?[\[\"'\d]|for example|such as the|e\.g"
    r"|expected output|the tests)\b|\breturns? \S{1,30} for (?:[\"'`(\[\d]|\w=)",
    re.IGNORECASE,
)
# Advice about the code of this attempt, which nobody keeps: "the condition should be updated".
_OWN_CODE = re.compile(
    r"^(?:it (?:should|must|needs to) be\b|the (?:\w{1,20} ){0,4}(?:condition|statement|loop"
    r"|initiali[sz]ation|variable|line|code|body)\b[^\n]{0,60} should be (?:updated|moved"
    r"|changed|modified|adjusted|placed|inside|indented|removed|replaced|`))",
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
    """Return the advice to keep.

    If an agent reviews its own attempts, keep only its last advice. The agent has already
    tried the earlier advice without success.
    """
    found = list(_collect(task, outcome))
    if task.feedback_source != "agent" or not _is_retrospect(task):
        return found
    return [advice for advice in found[-1:] if not _OWN_CODE.match(advice.action)]


def _is_retrospect(task: Task) -> bool:
    """Return whether the feedback reviews attempts instead of giving rules."""
    return bool(_RETROSPECT.search(task.feedback[:4_000]))


_RETROSPECT = re.compile(
    r"\b(?:the (?:current |given |provided |previous )?(?:implementation|approach|solution"
    r"|code|attempt|function)|my (?:mistake|attempt|approach)|i (?:was|failed|should have"
    r"|did|tried|forgot))\b",
    re.IGNORECASE,
)


def _collect(task: Task, outcome: str) -> Iterator[Advice]:
    own = task.feedback_source == "agent" and _is_retrospect(task)
    for directive in directives.find(task.feedback):
        if not _is_specific(directive.content, own=own):
            continue
        advice = _to_advice(task, directive, own=own, confidence=_trust(task, outcome))
        if advice:
            yield advice


def _trust(task: Task, outcome: str) -> float:
    own = OWN_WORD_PROVEN if outcome == "success" else OWN_WORD
    return CONFIDENCE.get(task.feedback_source, own)


def _is_specific(content: str, *, own: bool) -> bool:
    words = content.split()
    if len(words) < (MIN_OWN_WORDS if own else MIN_WORDS):
        return False
    if own and _ONE_RUN.search(content):
        return False
    if _HOLLOW.search(content):
        return False
    if own and _VAGUE.search(content) and not _CONCRETE.search(content):
        return False
    values = [
        text for text in groundedness.literals(content) if not text.isidentifier()
    ]
    return not own or len(values) <= MAX_LITERALS * len(words)


def _to_advice(
    task: Task, directive: Directive, *, own: bool, confidence: float
) -> Advice | None:
    """Return the advice with its situation, or None.

    The situation comes from the words of the advice or from the goal.
    """
    category = _category(directive)
    if own and confidence == OWN_WORD and not _is_general(task, directive):
        return None
    name = _SIGNATURE.findall(task.goal[:20_000])
    place = None
    if (own and name) or not directive.is_complete:
        place = _function(task.goal) or _short_goal(task.goal)
        if place is None:
            return None
    if directive.kind == "worked":
        content = _keep_up(directive.content)
        action = content.split(":", 1)[0].rstrip(".")
        return (
            None
            if place
            else Advice(
                directive.start,
                directive.end,
                "",
                action,
                content,
                category,
                confidence,
            )
        )
    if place is None:
        condition, action = _split_condition(directive.content)
        return Advice(
            directive.start, directive.end, condition, action, directive.content,
            category, confidence,
        )  # fmt: skip
    condition, goal_span = place
    action = _lower_first(directive.content).rstrip(".")
    content = f"When {condition}, {action}."
    return Advice(
        directive.start, directive.end, condition, action, content,
        "gotchas" if own else category, confidence, goal_span,
        "REQUIREMENT_MISSED" if own else "PREFERENCE",
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


def _is_general(task: Task, directive: Directive) -> bool:
    """Return whether advice about a failed attempt may help in other tasks.

    What an agent says about code that still fails is an untested guess.
    """
    return directive.is_complete and not _SIGNATURE.search(task.goal[:20_000])


def _split_condition(content: str) -> tuple[str, str]:
    """Split "When X, do Y." or "Do Y before X." into X and Y."""
    text = content.rstrip(".")
    if opening := _OPENING.match(text):
        return opening[0].rstrip(", "), text[opening.end() :]
    if closing := _CLOSING.search(text):
        return closing[0].strip(), text[: closing.start()]
    return "", text


def _function(goal: str) -> tuple[str, tuple[int, int]] | None:
    """Return the function that the goal asks for: the last signature in the goal."""
    found = list(_SIGNATURE.finditer(goal[:20_000]))
    if not found:
        return None
    return f"implementing `{found[-1]['name']}`", found[-1].span("name")


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
