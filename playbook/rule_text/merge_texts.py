"""Merge the texts of two rules by using the sentences of the two texts.

Pure functions. A person, or a model, chose the two texts.
"""

from __future__ import annotations

import re

from common.text import literals
from playbook.rule_text import text_gates, text_patterns

_SENTENCE_BREAK = re.compile(r"(?<=[.!?])\s++(?=[^a-z\s])|(?<!\s)[^\S\n]*+\n\s*+")
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
    new_parts = [part for part in split_sentences(new) if not covers(old, part)]
    own = [part for part in split_sentences(old) if not covers(new, part)]
    if any(_have_same_subject(one, other) for one in new_parts for other in own):
        return None
    text = " ".join([_end_sentence(old.strip()), *new_parts])
    return text if len(text.split()) <= text_gates.MAX_WORDS else None


def covers(whole: str, part: str) -> bool:
    """Whether one text can replace another text, by the gate `shrink`."""
    results = (
        text_gates.check_literals(part, whole),
        text_gates.check_words(part, whole),
    )
    return all(result.verdict == "pass" for result in results)


def split_sentences(text: str) -> list[str]:
    return [part for part in _SENTENCE_BREAK.split(text.strip()) if part]


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
