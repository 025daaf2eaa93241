"""Find the active entries that a rule contradicts, by their words.

A vector alone misses opposites, and there may be no vector yet. The index is built in memory
from one query, so that a revert of thousands of entries reads them once.
"""

from __future__ import annotations

import re
import uuid
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from common.text.contradiction import rule_opposition
from playbook.models import PlaybookEntry

# Entries that share the most words with a rule are compared with it.
MAX_COMPARED = 24
# The action of a lesson that corrects an answer. Such rules are compared by their questions.
ANSWER = re.compile(r"answer `[^`\n]+`")


@dataclass(frozen=True)
class ActiveRule:
    entry_id: uuid.UUID
    text: str
    condition: str


@dataclass(frozen=True)
class OpposedRule:
    entry_id: uuid.UUID
    reason: str


def rule_text(content: str, action: str) -> str:
    """Return what a rule demands: its text, and its action if the text lacks it."""
    return f"{content} ; {action}" if action and action not in content else content


class RuleIndex:
    """The active rules of a project by the words that name their subjects and choices."""

    def __init__(self, rules: Iterable[ActiveRule]) -> None:
        self.rules = list(rules)
        self.by_word: dict[str, list[int]] = defaultdict(list)
        for number, rule in enumerate(self.rules):
            for word in rule_opposition.index_words(rule.text, rule.condition):
                self.by_word[word].append(number)

    @classmethod
    def load(cls, project_id: uuid.UUID) -> RuleIndex:
        rows = PlaybookEntry.objects.current().filter(project_id=project_id)
        columns = rows.order_by("pk").values_list(
            "pk", "content", "condition", "action"
        )
        return cls(
            ActiveRule(pk, rule_text(content, action), condition)
            for pk, content, condition, action in columns
            if not ANSWER.fullmatch(action)
        )

    def find_opposed(
        self, text: str, condition: str, *, without: Collection[uuid.UUID]
    ) -> Iterator[OpposedRule]:
        """Yield the rules that a rule contradicts, whose `rule_text` is given."""
        for number in self._candidates(text, condition):
            rule = self.rules[number]
            if rule.entry_id in without:
                continue
            reason = rule_opposition.find_opposition(
                rule.text,
                text,
                condition=rule.condition,
                other_condition=condition,
            )
            if reason:
                yield OpposedRule(rule.entry_id, reason)

    def _candidates(self, text: str, condition: str) -> list[int]:
        shared: Counter[int] = Counter()
        for word in rule_opposition.index_words(text, condition):
            shared.update(self.by_word.get(word, ()))
        return [number for number, _ in shared.most_common(MAX_COMPARED)]
