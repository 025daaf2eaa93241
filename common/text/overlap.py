"""Compare two long texts by their words, in whatever order their paragraphs stand.

Vectors of chunks cannot do this: with one paragraph moved, every chunk holds other words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from common.text.normalise import normalise

# A run of this many words rarely stands in two texts by chance. Words in such a run of both
# texts are shared, as are the words of a line that both texts have.
RUN = 4
# A longer run that only one text has, outside of headings, is a statement of its own.
MAX_OWN_WORDS = 3
CONTEXT = 4  # words before and after an own run, for the checks that compare the runs

_WORD = re.compile(r"\w+")
_HEADING = re.compile(
    r"\s{0,3}(?:#{1,6}\s|\*\*[^*]{1,100}\*\*\s*$|__[^_]{1,100}__\s*$)"
)
_UNDERLINE = re.compile(r"\s{0,3}(?:=+|-+)\s*$")


@dataclass(frozen=True)
class TextWord:
    text: str
    start: int
    end: int
    line: int


@dataclass(frozen=True)
class OwnRun:
    """Words that only one of two texts has, and the words around them."""

    words: int
    in_heading: bool
    before: str
    text: str
    after: str

    @property
    def is_statement(self) -> bool:
        """Whether the words are long enough for a statement, or have a number."""
        has_number = any(map(str.isdigit, self.text))
        return not self.in_heading and (self.words > MAX_OWN_WORDS or has_number)

    @property
    def context(self) -> str:
        return f"{self.before}{self.text}{self.after}"


class WordText:
    """A text as a sequence of words, with its lines."""

    def __init__(self, text: str) -> None:
        self.text = normalise(text)
        self.lines = self.text.splitlines()

    @cached_property
    def words(self) -> list[TextWord]:
        found: list[TextWord] = []
        at = 0
        for number, line in enumerate(self.text.splitlines(keepends=True)):
            for match in _WORD.finditer(line):
                start, end = match.span()
                found.append(
                    TextWord(match[0].casefold(), at + start, at + end, number)
                )
            at += len(line)
        return found

    @cached_property
    def runs(self) -> set[tuple[str, ...]]:
        texts = [word.text for word in self.words]
        return set(zip(*(texts[at:] for at in range(RUN)), strict=False))

    @cached_property
    def line_keys(self) -> list[tuple[str, ...]]:
        keys: list[list[str]] = [[] for _ in self.lines]
        for word in self.words:
            keys[word.line].append(word.text)
        return [tuple(key) for key in keys]

    def is_heading(self, number: int) -> bool:
        following = self.lines[number + 1] if number + 1 < len(self.lines) else ""
        return bool(_HEADING.match(self.lines[number]) or _UNDERLINE.match(following))

    def own_runs(self, other: WordText) -> list[OwnRun]:
        """Return the runs of words that the other text does not have."""
        is_shared = self._shared_words(other)
        runs: list[OwnRun] = []
        for first, after in _false_spans(is_shared):
            own = self.words[first:after]
            around = self.words[max(0, first - CONTEXT) : after + CONTEXT]
            start, end = own[0].start, own[-1].end
            runs.append(
                OwnRun(
                    words=len(own),
                    in_heading=all(self.is_heading(word.line) for word in own),
                    before=self.text[around[0].start : start],
                    text=self.text[start:end],
                    after=self.text[end : around[-1].end],
                )
            )
        return runs

    def _shared_words(self, other: WordText) -> list[bool]:
        lines = set(other.line_keys)
        shared = [self.line_keys[word.line] in lines for word in self.words]
        texts = [word.text for word in self.words]
        for at, run in enumerate(zip(*(texts[n:] for n in range(RUN)), strict=False)):
            if run in other.runs:
                shared[at : at + RUN] = [True] * RUN
        return shared


def _false_spans(flags: Sequence[bool]) -> Iterator[tuple[int, int]]:
    first = None
    for at, flag in enumerate([*flags, True]):
        if not flag and first is None:
            first = at
        elif flag and first is not None:
            yield first, at
            first = None


@dataclass(frozen=True)
class WordOverlap:
    """What two texts share: `share` is the share of words, and each has runs of its own."""

    share: float
    left: list[OwnRun]
    right: list[OwnRun]

    @property
    def own_statement(self) -> str:
        """Return a run that is a statement which only one text makes, or an empty text."""
        runs = (*self.left, *self.right)
        return next((run.context for run in runs if run.is_statement), "")

    @property
    def sides(self) -> tuple[str, str]:
        """Return what each text has around the runs, for a check that compares texts.

        Where one text has a run, the other text has the words around it.
        """
        own = [[run.context for run in side] for side in (self.left, self.right)]
        gaps = [
            [f"{run.before} {run.after}" for run in side]
            for side in (self.right, self.left)
        ]
        left, right = (". ".join(a + b) for a, b in zip(own, gaps, strict=True))
        return left, right


def share_of_words(left: str, right: str) -> float:
    """Return how many of the different words of two texts are in both, from 0 to 1."""
    a, b = ({word.text for word in WordText(text).words} for text in (left, right))
    return len(a & b) / len(a | b) if a or b else 1.0


def compare(left: str, right: str) -> WordOverlap:
    a, b = WordText(left), WordText(right)
    own = a.own_runs(b), b.own_runs(a)
    total = len(a.words) + len(b.words)
    missing = sum(run.words for side in own for run in side)
    return WordOverlap(1 - missing / total if total else 1.0, *own)
