"""Say which sessions and tasks will be given a proposed rule, once it is live."""

from __future__ import annotations

from dataclasses import dataclass

from common.admin.paginator import count_bounded, format_count
from common.caller import Caller
from console.inbox import proposal_cards
from context.task_context import TOKEN_BUDGET
from mcp_server.hooks.session_start import RULE_TOKENS
from playbook.models import Playbook, PlaybookDelta
from playbook.reading import entry_list, relevance
from playbook.reading.entry_list import EntryFilters
from playbook.rule_text.applicability import ALWAYS

# Up to so many tokens of playbook, the context of a task has every rule
# (context.task_context.assemble, context.task_rules.choose).
WHOLE_TOKENS = TOKEN_BUDGET // 2


@dataclass(frozen=True)
class Reach:
    """The playbook with the proposed rule, and what the rule is.

    `rules` is a number as a person reads it; a long playbook is not counted to its end.
    """

    rules: str
    tokens: int
    is_answer: bool = False
    is_always: bool = False

    @property
    def sentences(self) -> list[str]:
        if self.is_answer:
            return [
                "It answers one question: a task is given it only for that question."
            ]
        return [self._at_start, self._in_context]

    @property
    def _at_start(self) -> str:
        size = f"The playbook would have {self.rules}, {self.tokens:,} tokens."
        if self.tokens <= RULE_TOKENS:
            return (
                f"Every session of this project that a hook starts will be given it. {size} "
                f"A start has room for {RULE_TOKENS:,}."
            )
        return (
            f"A session that a hook starts is given the first rules, up to {RULE_TOKENS:,} "
            f"tokens, pinned ones first. {size} So not every start will have it."
        )

    @property
    def _in_context(self) -> str:
        if self.is_always:
            return "The context of every task will have it: it is pinned, or applies always."
        if self.tokens <= WHOLE_TOKENS:
            return (
                f"The context of every task will have it, until the playbook is longer than "
                f"{WHOLE_TOKENS:,} tokens. Then relevance picks."
            )
        return "The context of a task will have it if relevance picks it."


def estimate(delta: PlaybookDelta, caller: Caller) -> Reach:
    """Estimate the reach of a proposal that writes a text."""
    rows = entry_list.find(delta.project, EntryFilters(), caller)
    count = count_bounded(rows) + (delta.entry_id is None)
    sizes = Playbook.objects.visible_to(caller).filter(project_id=delta.project_id)
    now = sizes.values_list("tokens", flat=True).first() or 0
    entry = delta.entry
    is_pinned = delta.payload.get("pinned", entry.pinned if entry else False)
    return Reach(
        rules=f"{format_count(count)} {'rule' if count == 1 else 'rules'}",
        tokens=now + proposal_cards.token_difference(delta),
        is_answer=relevance.is_answer(delta.content),
        is_always=bool(is_pinned) or ALWAYS in places_of(delta),
    )


def places_of(delta: PlaybookDelta) -> list[str]:
    """Return where the rule would apply: the values of `applies_to`."""
    of_entry = delta.entry.applies_to if delta.entry else ()
    return list(delta.payload.get("applies_to", of_entry) or ())
