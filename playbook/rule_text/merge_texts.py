"""Merge the texts of two rules by using the sentences of the two texts.

Pure functions. A person, or a model, chose the two texts.
"""

from __future__ import annotations

import re

from common.text import literals
from playbook.rule_text import text_patterns

MAX_WORDS = 60  # of a merged text
MAX_DROPPED = 0.40  # the share of the words of a text that another one may lack
# Two sentences that share this much of their specific words are about the same subject.
# If such sentences name different values, they contradict each other.
SAME_SUBJECT = 0.5


def merge(old: str, new: str) -> str | None:
    """Return one text with all literals of both texts, or None if code cannot make one.

    If one text covers the other, the covering text is returned unchanged. Otherwise the
    sentences that the older text lacks are appended to the older text. The merged text
    is at most as long as one lesson may be.
    """
    if covers(old, new):
        return old
    if covers(new, old):
        return new
    new_parts = [part for part in text_patterns.sentences(new) if not covers(old, part)]
    own = [part for part in text_patterns.sentences(old) if not covers(new, part)]
    if any(_have_same_subject(one, other) for one in new_parts for other in own):
        return None
    text = " ".join([_end_sentence(old.strip()), *new_parts])
    return text if len(text.split()) <= MAX_WORDS else None


def covers(whole: str, part: str) -> bool:
    """Whether one text can replace another one: it has its names and most of its words."""
    if find_dropped(part, whole):
        return False
    words = text_patterns.WORD.findall(part.lower())
    kept = set(text_patterns.WORD.findall(whole.lower()))
    dropped = sum(word not in kept for word in words)
    return not words or dropped / len(words) < MAX_DROPPED


def find_dropped(before: str, after: str) -> list[str]:
    """Return the literals of a text that the other one lacks: `/a/b` does not have `/a`."""
    known = {literal.casefold() for literal in literals.find_literals(after)}
    text = fold(after)
    return sorted(
        literal
        for literal in literals.find_literals(before)
        if literal.casefold() not in known and not _has_whole(fold(literal), text)
    )


def has_literal(literal: str, text: str) -> bool:
    """Whether a folded text contains a folded literal as a whole: 130 does not contain 30.

    A literal that ends in `_`, `-` or `/` is a prefix: `gift_card_1234` has `gift_card_`.
    """
    end = "" if literal.endswith(("_", "-", "/")) else r"(?!\w|[.,]\d)"
    pattern = rf"(?<![\w])(?<!\d[.,]){re.escape(literal)}{end}"
    return re.search(pattern, text) is not None


def _has_whole(literal: str, text: str) -> bool:
    longer = rf"(?<!\w){re.escape(literal)}[./]\w[\w./-]*"
    return has_literal(literal, re.sub(longer, " ", text))


def fold(text: str) -> str:
    return " ".join(text.casefold().split())


def _have_same_subject(one: str, other: str) -> bool:
    left, right = _distinctive_words(one), _distinctive_words(other)
    fewest = min(len(left), len(right))
    return not fewest or len(left & right) >= SAME_SUBJECT * fewest


def _distinctive_words(sentence: str) -> set[str]:
    literal_words = {
        word
        for literal in literals.find_literals(sentence)
        for word in text_patterns.WORD.findall(literal.lower())
    }
    return (
        set(text_patterns.WORD.findall(sentence.lower()))
        - literal_words
        - text_patterns.VAGUE
    )


def _end_sentence(text: str) -> str:
    return text if text.endswith((".", "!", "?", "`", '"')) else f"{text}."
