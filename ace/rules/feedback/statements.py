"""Find plain statements of fact: how a team works, and what a domain does not allow.

"We never log request bodies", "Basic economy flights cannot be modified". A statement that is
about the moment, that points at something outside of its sentence, or that only one person or
one thing is the subject of, is no fact to keep.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ace.rules.feedback import clauses, conversation

MAX_TEXT = 20_000
MAX_FACTS = 10
MIN_WORDS, MAX_WORDS = 5, 40

_WE = re.compile(
    r"(?:^|[,;:\u2014-] |\b(?:but|and|since|as|because|why) )"
    r"(?P<fact>(?:(?:in|for|on|with) [\w`./-]{2,40} )?we (?:(?:always|never|only|also) )?(?:(?:do not|don['\u2019]t) [a-z]{2,20}|use"
    r"|keep|store|add|write|want|call|name|track|run|have to|treat|log|link|follow)"
    r" [^\n]{4,240})",
    re.IGNORECASE,
)
_LIMIT = re.compile(
    r"(?P<fact>(?!the (?:current|fix|change|comment|new|old)\b)[^\n]{3,120}? (?:can ?not|can't|can only|may not|may only"
    r"|must(?: not)?|(?:is|are) (?:not |never |only )?(?:allowed|permitted|required|eligible"
    r"|supported|non-?refundable|immutable|read-only|stored|kept|case-sensitive)|do(?:es)? not"
    r" (?:allow|permit|support)|requires?|lives? in|belongs? (?:to|in)) ?[^\n]{0,200})",
    re.IGNORECASE,
)
# Words that point outside of the sentence, or at the moment.
_POINTS = re.compile(
    r"\b(?:this|that(?= (?:is|was|works?|one)\b)|these|those|it|its|he|she|they|them|his|her"
    r"|here|there|now|currently|today|right now|so far|yet|still|again|just|i|you|your|my|me"
    r"|right|yes|yeah|hey|option|above|below|following|last|next)\b",
    re.IGNORECASE,
)
_ASKS = re.compile(
    r"^(?:can|could|should|would|shall|do|does|did|is|are|was|were|why|what|where|when|how|who"
    r"|which|if|whether|maybe|perhaps|i (?:think|guess|feel|wonder|believe))\b"
    r"|\b(?:i wonder|wondering|think (?:we|that)|not sure|in theory|let['\u2019]s|(?<!always )want to"
    r"|need to|going to|would|could|might)\b",
    re.IGNORECASE,
)
# Where a clause begins that draws a conclusion from the fact, or asks for something.
_TAIL = re.compile(
    r"(?:,| \(|;| -+)? (?:so (?!that)|which (?:means|is)|and (?:i|it|this|that|so)"
    r"|but |can (?:we|you)|could (?:we|you)|right\b|hence|therefore)[^\n]*$",
    re.IGNORECASE,
)
_PERSONA = re.compile(r"\s{0,20}you(?:'re| are) ", re.IGNORECASE)


@dataclass(frozen=True)
class FactStatement:
    """A fact, and the place of its sentence in the text."""

    start: int
    end: int
    content: str


def find(text: str, *, of_team: bool) -> list[FactStatement]:
    """Return the facts of a text: a team's habits, or what holds for a kind of things.

    A text that gives the reader a role ("You are …") describes a part to play.
    """
    if _PERSONA.match(text):
        return []
    found = []
    for start, end in conversation.split(text[:MAX_TEXT]):
        sentence = text[start:end]
        fact = _habit(sentence) if of_team else _limit(sentence)
        if fact:
            found.append(FactStatement(start, end, f"Remember that {fact}."))
    return found[:MAX_FACTS]


def _habit(sentence: str) -> str:
    """Return the clause that says what the team does or does not do."""
    found = _WE.search(sentence)
    return (
        _plain(_lower_first(found["fact"]))
        if found and not sentence.endswith("?")
        else ""
    )


def _limit(sentence: str) -> str:
    """Return the sentence if it says what a kind of thing cannot do, or must."""
    text = clauses.without_lead(sentence).removeprefix("Unfortunately, ")
    found = _LIMIT.fullmatch(text.rstrip(".!"))
    if found is None or sentence.endswith("?"):
        return ""
    return _plain(_lower_first(found["fact"]))


def _lower_first(text: str) -> str:
    """Lower the first letter, unless the first word is a name or code."""
    is_plain = text.split(" ", 1)[0][1:].islower() or len(text.split(" ", 1)[0]) == 1
    return text[:1].lower() + text[1:] if is_plain else text


def _plain(fact: str) -> str:
    text = _TAIL.sub("", fact).strip(" .,;:!)")
    count = len(text.split())
    if (
        _POINTS.search(text)
        or _ASKS.search(text)
        or not MIN_WORDS <= count <= MAX_WORDS
    ):
        return ""
    return text if text.count("`") % 2 == text.count('"') % 2 == 0 else ""
