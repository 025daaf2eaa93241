"""Two more ways to answer the questions: by all raw examples, and by the context of a task."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Sequence

import numpy as np

from bench.datasets.finer_questions import BUDGET, FinerQuestion, TagAnswerer
from common.caller import SYSTEM
from context import task_context

# The number of examples that vote, and how fast their weight falls with their cosine c: it
# is e^(10 c). Weighted by the cosine alone, the vote gains 9.5 points instead of 17.8,
# because the weights of the nearest and the fifteenth example are nearly equal.
NEAREST, STEEPNESS = 15, 10.0
# An agent of its own, so that what it is given counts for no task of another agent.
READER = "reader"
# What a line of the context says is right: a rule's answer, or the feedback on an answer.
# Line breaks of a memory are escaped there.
_RIGHT = re.compile(
    r"\b(?:answer|Expected) `([^`\n]{1,200})`"
    r"|\\n([^\\\n]{1,200})\\n\\nFeedback: Correct\."
)


class ExampleVote:
    """Answers with the tag of the nearest examples, each weighted by its similarity.

    Without examples, the answer is that without a playbook.
    """

    def __init__(
        self, answerer: TagAnswerer, examples: Sequence[FinerQuestion]
    ) -> None:
        self.answerer = answerer
        self.tags = [example.tag for example in examples]
        self._vectors = np.asarray([answerer.embed(example) for example in examples])

    def answer(self, question: FinerQuestion) -> str:
        if not self.tags:
            return self.answerer.without_playbook(question)
        cosines = self._vectors @ np.asarray(self.answerer.embed(question))
        weights: dict[str, float] = defaultdict(float)
        for place in np.argsort(-cosines, kind="stable")[:NEAREST]:
            weights[self.tags[place]] += math.exp(STEEPNESS * cosines[place])
        return max(weights, key=lambda tag: weights[tag])


class ContextAnswerer:
    """Answers with the tag that most lines of the context of the task call right.

    Of two tags with equally many lines, the first counts. If no line calls a tag right,
    the answer is that without a playbook.
    """

    def __init__(self, answerer: TagAnswerer) -> None:
        self.answerer = answerer

    def answer(self, question: FinerQuestion) -> str:
        context = task_context.for_task(
            self.answerer.project,
            question.goal,
            SYSTEM,
            token_budget=BUDGET,
            agent_id=READER,
        )
        named = Counter(filter(None, map(self._right_tag, context.text.splitlines())))
        if named:
            return named.most_common(1)[0][0]
        return self.answerer.without_playbook(question)

    def _right_tag(self, line: str) -> str:
        """Return the last tag that a line calls right, because the feedback ends a memory."""
        found = [first or second for first, second in _RIGHT.findall(line)]
        tags = [tag for tag in found if self.answerer.is_tag(tag)]
        return tags[-1] if tags else ""
