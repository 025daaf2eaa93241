"""Find what an agent learned from its own failed attempts at one task.

Of several reflections the last one counts, because the agent tried what the earlier ones say.
It counts only if the task then succeeded, and if the accepted result does not contradict it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ace.rules import groundedness
from ace.rules.feedback import directives
from ace.rules.feedback.directives import Directive
from ace.rules.task import Task

MIN_WORDS = 7
# If more of the words are literals, the text describes one input, not a rule.
MAX_LITERALS = 0.25
# Share of the advice's words that the goal or the accepted result must have.
AGREEMENT = 0.6
MAX_TEXT = 20_000

_REVIEW = re.compile(
    r"^(?:the (?:current |given |provided |previous )?(?:implementation|approach|solution"
    r"|code|attempt|function)|my (?:mistake|attempt|approach)|i (?:was|failed|should have"
    r"|did|tried|forgot))\b",
    re.IGNORECASE | re.MULTILINE,
)
# A concrete advice says what to do in the place of what the attempt did.
_CONTRAST = re.compile(
    r"\b(?:instead of|rather than|instead|only|regardless|by \w{3,20}ing|once|each|not (?:the"
    r"|all|for|just))\b",
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
_SIGNATURE = re.compile(
    r"^[ \t]{0,16}(?:pub |async |static |export ){0,3}(?:def|fn|func|function) "
    r"(?P<name>[A-Za-z_]\w{0,80})[ ]?[(<]",
    re.MULTILINE,
)
_TERM = re.compile(r"[A-Za-z]{4,40}")
_EMPTY = frozenset(
    [
        "should",
        "must",
        "need",
        "function",
        "implementation",
        "problem",
        "statement",
        "instead",
        "rather",
        "just",
        "only",
        "also",
        "when",
        "with",
        "that",
        "this",
        "thi",
        "which",
        "from",
        "into",
        "before",
        "after",
        "require",
        "specifie",
    ]
)


def is_review(task: Task) -> bool:
    """Return whether the agent looks back at its attempts instead of giving rules."""
    return task.feedback_source == "agent" and bool(
        _REVIEW.search(task.feedback[:MAX_TEXT])
    )


def find(task: Task) -> Directive | None:
    """Return the last advice of the last reflection, if the accepted result bears it out."""
    last = [match.start() for match in _REVIEW.finditer(task.feedback[:MAX_TEXT])][-1:]
    found = [
        directive
        for directive in directives.find(task.feedback)
        if last and directive.start >= last[0] and _is_specific(directive.content)
    ]
    if not found or not _agrees(found[-1].content, task):
        return None
    return None if _OWN_CODE.match(found[-1].content) else found[-1]


def subject(goal: str) -> tuple[str, tuple[int, int]] | None:
    """Return the function that the goal asks for: the last signature in the goal."""
    found = list(_SIGNATURE.finditer(goal[:MAX_TEXT]))
    if not found:
        return None
    return f"implementing `{found[-1]['name']}`", found[-1].span("name")


def _is_specific(content: str) -> bool:
    words = content.split()
    if len(words) < MIN_WORDS or _ONE_RUN.search(content):
        return False
    if not _CONTRAST.search(content):
        return False
    values = [
        text for text in groundedness.literals(content) if not text.isidentifier()
    ]
    return len(values) <= MAX_LITERALS * len(words)


def _agrees(content: str, task: Task) -> bool:
    """Return whether the accepted result has the values and most words of the advice."""
    accepted = f"{task.goal}\n{task.result}"[:MAX_TEXT].lower()
    if any(value.lower() not in accepted for value in groundedness.literals(content)):
        return False
    terms = set(_terms(content)) - _EMPTY
    return sum(term in accepted for term in terms) >= AGREEMENT * len(terms)


def _terms(content: str) -> Iterator[str]:
    """Yield the words, without the ending that a plural or another tense adds."""
    for word in _TERM.findall(content.lower()):
        yield word[:-1] if word.endswith("s") else word
