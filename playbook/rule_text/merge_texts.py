"""One text out of two rules, made of their own sentences.

Pure. Whether the two disagree is asked before (`neighbours.disagreement_beside_names`).
"""

from __future__ import annotations

import re

from common.text import literals
from playbook.rule_text import text_gates, text_patterns

_SENTENCE_BREAK = re.compile(r"(?<=[.!?])\s+(?=[^a-z\s])|\s*\n\s*")
# Two sentences that share this much of their telling words speak of the same, so
# that what they name is one value against another.
SAME_SUBJECT = 0.5


def merge(old: str, new: str) -> str | None:
    """What both say with every literal of both, or None when code cannot tell.

    A text that says it all is the answer as it is. Else the older text stays word for
    word and takes the sentences that it lacks, up to the words of one lesson.
    """
    if covers(old, new):
        return old
    if covers(new, old):
        return new
    added = [part for part in split_sentences(new) if not covers(old, part)]
    own = [part for part in split_sentences(old) if not covers(new, part)]
    if any(_have_same_subject(one, other) for one in added for other in own):
        return None
    text = " ".join([_end_sentence(old.strip()), *added])
    return text if len(text.split()) <= text_gates.MAX_WORDS else None


def covers(whole: str, part: str) -> bool:
    """Whether a text could stand for another one: as the gate `shrink` has it."""
    kept = (text_gates.check_literals(part, whole), text_gates.check_words(part, whole))
    return all(gate.verdict == "pass" for gate in kept)


def split_sentences(text: str) -> list[str]:
    return [part for part in _SENTENCE_BREAK.split(text.strip()) if part]


def _have_same_subject(one: str, other: str) -> bool:
    left, right = _distinctive_words(one), _distinctive_words(other)
    fewest = min(len(left), len(right))
    return not fewest or len(left & right) >= SAME_SUBJECT * fewest


def _distinctive_words(sentence: str) -> set[str]:
    named = {
        word
        for literal in literals.find_literals(sentence)
        for word in text_patterns.WORD.findall(literal.lower())
    }
    return (
        set(text_patterns.WORD.findall(sentence.lower())) - named - text_patterns.VAGUE
    )


def _end_sentence(text: str) -> str:
    return text if text.endswith((".", "!", "?", "`", '"')) else f"{text}."
