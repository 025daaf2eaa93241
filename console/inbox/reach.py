"""Say which sessions and tasks will be given a proposed rule, once it is live."""

from __future__ import annotations

from dataclasses import dataclass

from common.admin.paginator import count_bounded, format_count
from common.caller import Caller
from console.inbox.proposal_cards import ProposalCard
from context.headings import ACCEPTED
from context.task_context import TOKEN_BUDGET
from inference import tokens
from mcp_server.hooks.session_start import RULE_TOKENS
from playbook.models import Playbook, PlaybookDelta
from playbook.reading import entry_list, relevance
from playbook.reading.entry_list import EntryFilters
from playbook.rule_text.applicability import ALWAYS

# What a start of a session has for rules, without their heading.
START_TOKENS = RULE_TOKENS - tokens.estimate(f"{ACCEPTED}:\n")
# Up to so many tokens of playbook, the context of a task has every rule
# (context.task_context.assemble, context.task_rules.choose).
WHOLE_TOKENS = TOKEN_BUDGET // 2


@dataclass(frozen=True)
class Reach:
    """The playbook with the proposed rule, and what the rule is.

    `rules` is a number as a person reads it; a long playbook is not counted to its end.
    `has_start` says whether hooks of the project give anything at the start of a session.
    """

    rules: str
    tokens: int
    is_answer: bool = False
    is_always: bool = False
    has_start: bool = True

    @property
    def sentences(self) -> list[str]:
        if self.is_answer:
            return [
                "It answers one question: a task is given it only for that question."
            ]
        return [self._at_start, self._in_context]

    @property
    def _at_start(self) -> str:
        if not self.has_start:
            return "No session is given it at its start: `hooks.session_start` is off."
        size = f"The playbook would have {self.rules}, {self.tokens:,} tokens."
        if self.tokens <= START_TOKENS:
            return (
                f"As a rule, a session of this project that a hook starts is given it. {size} "
                f"A start has room for {START_TOKENS:,}."
            )
        return (
            f"A session that a hook starts is given the first rules, up to {START_TOKENS:,} "
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


def estimate(card: ProposalCard, caller: Caller) -> Reach:
    """Estimate the reach of a proposal that writes a text."""
    delta = card.delta
    rows = entry_list.find(delta.project, EntryFilters(), caller)
    count = count_bounded(rows) + (delta.entry_id is None) - len(card.targets)
    sizes = Playbook.objects.visible_to(caller).filter(project_id=delta.project_id)
    now = sizes.values_list("tokens", flat=True).first() or 0
    entry = delta.entry
    is_pinned = delta.payload.get("pinned", entry.pinned if entry else False)
    return Reach(
        rules=f"{format_count(count)} {'rule' if count == 1 else 'rules'}",
        tokens=now + card.tokens,
        is_answer=relevance.is_answer(delta.content),
        is_always=bool(is_pinned) or ALWAYS in places_of(delta),
        has_start=delta.project.options.hooks.session_start,
    )


def places_of(delta: PlaybookDelta) -> list[str]:
    """Return where the rule would apply: the values of `applies_to`."""
    of_entry = delta.entry.applies_to if delta.entry else ()
    return list(of_entry if delta.applies_to is None else delta.applies_to)
