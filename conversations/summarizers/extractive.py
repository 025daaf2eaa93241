"""Summarize without a model: the weightiest sentences, and the names that matter.

At least half of a summary are sentences. The rest lists files, commands and other literals,
because later messages name them again. Nothing is written that does not stand in the text,
but that messages without words have none.
"""

from __future__ import annotations

import heapq
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from conversations.summarizers.escalate import escalate
from conversations.summarizers.extract_source import (
    Statement,
    SummarySource,
    read_source,
)
from conversations.summarizers.options import SummarizeOptions
from conversations.tokens import estimate_tokens

# The share of a summary that sentences take before the lists are filled.
SENTENCE_SHARE = 0.52
# A sentence repeats another if it shares this part of its words with it.
REPEATED_SHARE = 0.7
# How much a sentence gains: by its speaker, by each new literal, by a word of decision.
SPEAKER_WEIGHTS = {
    "user": 1.6,
    "assistant": 1.0,
    "error": 1.1,
    "did": 0.6,
    "system": 0.3,
}
LITERAL_WEIGHT, MOST_LITERALS = 1.0, 5
# The most tokens of the lists and of the last line, as shares of those of the sentences.
MOST_LISTED, MOST_SUBJECTS = 0.95, 0.25
DECISION_WEIGHT = 0.6
LAST_WEIGHT = 0.8  # for the last words of each speaker
SUBJECTS = 6  # subjects of the last line
FILES, COMMANDS, NAMES = "Files", "Commands", "Also named"
EXPAND = "Expand for details about"
WORDLESS = Statement("system", "These messages have no words.", frozenset())
_DECISION = re.compile(
    r"\b(?:because|instead|decid\w+|chose\w*|must|never|always|should|fix\w*|fail\w*"
    r"|root cause|problem|error|broken|works?|working|done|remaining|next|todo|plan\w*"
    r"|now|use|need\w*|please|want\w*)\b",
    re.IGNORECASE,
)
_WORD = re.compile(r"\w+")
# Durations, sizes and small numbers say nothing without the sentence that they stand in.
_MEASURE = re.compile(
    r"\d{1,2}|\d+(?:\.\d+)?(?:ns|us|µs|ms|s|sec|m|min|h|%|x|[KMGT]i?B?|B)",
    re.IGNORECASE,
)


@dataclass
class ExtractiveSummarizer:
    """Summarizes by sentence scoring; needs no model."""

    name: str = "extractive"
    # It reads of a tool's result the literals only, and those at its end count as well.
    max_result: int = 4_000

    def summarize(self, text: str, options: SummarizeOptions) -> str:
        return escalate(extract, text, options)


def extract(text: str, options: SummarizeOptions) -> str:
    """Return the weightiest sentences in their order, then lists of literals."""
    target = options.target_of(text)
    if options.aggressive:
        target = target * 3 // 4
    return _Extract(read_source(text, is_condensed=options.is_condensed), target).text


class _Extract:
    def __init__(self, source: SummarySource, target: int) -> None:
        self.source = source
        self.target = target

    @cached_property
    def text(self) -> str:
        statements = self.statements
        lines = [statement.line for statement in statements]
        spoken = sum(map(estimate_tokens, lines))
        last = self.expand_line(spoken)
        # The lists are never longer than the sentences.
        room = min(self.target - spoken, int(spoken * MOST_LISTED))
        shown = "\n".join(lines)
        lists = list(self.lists(room - estimate_tokens(last), shown))
        return "\n".join([*lines, *lists, last])

    @cached_property
    def counts(self) -> Counter[str]:
        return self.source.literal_counts

    @cached_property
    def statements(self) -> list[Statement]:
        """The chosen sentences, in order; a sentence for each literal not yet covered."""
        every = self.source.statements
        words = [frozenset(_WORD.findall(each.text.casefold())) for each in every]
        spread = Counter(word for each in words for word in each)
        room = int(self.target * SENTENCE_SHARE)
        covered: set[str] = set()
        chosen: list[int] = []
        base = [
            self.base_weight(each, words[n], spread) for n, each in enumerate(every)
        ]

        def weigh(n: int) -> float:
            return base[n] + self.gain(every[n], covered)

        for best in _in_greedy_order(len(every), weigh):
            size = estimate_tokens(every[best].line) + 1
            if size > room or _is_repeated(words[best], [words[n] for n in chosen]):
                continue
            room -= size
            chosen.append(best)
            covered |= every[best].literals
        if not every:
            return [WORDLESS]
        if not chosen:
            return [every[0].shorten(max(self.target * 2, 40))]
        return [every[n] for n in sorted(chosen)]

    def base_weight(
        self, statement: Statement, words: frozenset[str], spread: Mapping[str, int]
    ) -> float:
        shared = sum(math.log1p(spread[word]) for word in words) / (len(words) + 5)
        weight = shared * SPEAKER_WEIGHTS.get(statement.speaker, 1.0)
        if _DECISION.search(statement.text):
            weight += DECISION_WEIGHT
        return weight + LAST_WEIGHT * statement.is_last

    def gain(self, statement: Statement, covered: set[str]) -> float:
        new = statement.literals - covered
        weights = sorted((math.log1p(self.counts[each]) for each in new), reverse=True)
        return LITERAL_WEIGHT * sum(weights[:MOST_LITERALS])

    def lists(self, room: int, shown: str) -> Iterable[str]:
        """Yield the lines of literals, as many of the weight as there is room for."""
        ranked = [each for each in self.source.literals_by_density if each not in shown]
        taken: dict[str, list[str]] = {FILES: [], COMMANDS: [], NAMES: []}
        for literal in ranked:
            size = estimate_tokens(f"{literal}, ")
            kind = self.kind_of(literal)
            if size <= room and not (kind == NAMES and _MEASURE.fullmatch(literal)):
                room -= size
                taken[kind].append(literal)
        files = [path for path in self.source.files if path in shown]
        if not (taken[FILES] or files):
            yield f"{FILES}: none"
        for name, values in taken.items():
            if values:
                yield f"{name}: {', '.join(values)}"

    def kind_of(self, literal: str) -> str:
        if literal in self.source.files:
            return FILES
        return COMMANDS if literal in self.source.commands else NAMES

    def expand_line(self, spoken: int) -> str:
        """Name the weightiest subjects, at least one."""
        subjects = self.source.ranked_literals[:SUBJECTS] or ["the messages"]
        most = spoken * MOST_SUBJECTS
        while len(subjects) > 1 and estimate_tokens(", ".join(subjects)) > most:
            subjects.pop()
        return f"{EXPAND}: {', '.join(subjects)}"


def _in_greedy_order(count: int, weigh: Callable[[int], float]) -> Iterator[int]:
    """Yield the numbers below `count`, at each moment the one of the largest weight.

    A weight may fall between two steps, and never rises, so that only the first numbers of
    the queue are weighed again (Minoux, "Accelerated greedy algorithms", 1978).
    """
    queue = [(-weigh(n), n) for n in range(count)]
    heapq.heapify(queue)
    while queue:
        _, best = heapq.heappop(queue)
        now = -weigh(best)
        if queue and (now, best) > queue[0]:
            heapq.heappush(queue, (now, best))
        else:
            yield best


def _is_repeated(words: frozenset[str], others: Sequence[frozenset[str]]) -> bool:
    least = REPEATED_SHARE * len(words)
    return any(len(words & other) >= least for other in others)
