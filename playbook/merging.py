"""One text out of two rules, made of their own sentences.

Pure. Whether the two disagree is asked before (`neighbours.disagreement_beside_names`).
"""

from __future__ import annotations

import re

from common.text import literals
from playbook import gates, wording

_BETWEEN = re.compile(r"(?<=[.!?])\s+(?=[^a-z\s])|\s*\n\s*")
# Two sentences that share this much of their telling words speak of the same, so
# that what they name is one value against another.
SAME_SUBJECT = 0.5


def merged(old: str, new: str) -> str | None:
    """What both say with every literal of both, or None when code cannot tell.

    A text that says it all is the answer as it is. Else the older text stays word for
    word and takes the sentences that it lacks, up to the words of one lesson.
    """
    if says(old, new):
        return old
    if says(new, old):
        return new
    added = [part for part in sentences(new) if not says(old, part)]
    own = [part for part in sentences(old) if not says(new, part)]
    if any(_same_subject(one, other) for one in added for other in own):
        return None
    text = " ".join([_closed(old.strip()), *added])
    return text if len(text.split()) <= gates.MOST_WORDS else None


def says(whole: str, part: str) -> bool:
    """Whether a text could stand for another one: as the gate `shrink` has it."""
    kept = (gates.keeps_literals(part, whole), gates.keeps_words(part, whole))
    return all(gate.verdict == "pass" for gate in kept)


def sentences(text: str) -> list[str]:
    return [part for part in _BETWEEN.split(text.strip()) if part]


def _same_subject(one: str, other: str) -> bool:
    left, right = _telling(one), _telling(other)
    fewest = min(len(left), len(right))
    return not fewest or len(left & right) >= SAME_SUBJECT * fewest


def _telling(sentence: str) -> set[str]:
    named = {
        word
        for literal in literals.find_literals(sentence)
        for word in wording.WORD.findall(literal.lower())
    }
    return set(wording.WORD.findall(sentence.lower())) - named - wording.VAGUE


def _closed(text: str) -> str:
    return text if text.endswith((".", "!", "?", "`", '"')) else f"{text}."
