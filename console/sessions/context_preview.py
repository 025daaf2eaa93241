"""What an agent would be given of a session, and what each part of it costs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from django.utils.safestring import SafeString

from common.admin import panels
from common.caller import Caller
from conversations.agent_memory.pair import MemoryPair
from conversations.agent_memory.preamble import (
    Preamble,
    build_preamble,
    no_preamble,
)
from conversations.assembly.assemble import AssembledContext, assemble
from conversations.assembly.pairs import ContextMessage
from conversations.invocations.switch import is_memory_on
from conversations.models import Session
from conversations.tokens import estimate_tokens

MAX_TEXT = 3_000  # characters of one message
MAX_SHOWN = 400  # messages


@dataclass(frozen=True)
class ContextShare:
    """A part of a context: how many messages and tokens it has.

    `start` and `percent` place it on a bar of the budget, in percent.
    """

    name: str
    label: str
    count: int
    tokens: int
    start: float
    percent: float

    @property
    def sentence(self) -> str:
        items = f" in {self.count:,}" if self.count and self.name != "memory" else ""
        return f"{self.label}: {self.tokens:,} tokens{items}"


@dataclass(frozen=True)
class ContextRow:
    """A message of the context as the page shows it."""

    item: ContextMessage
    body: SafeString


@dataclass(frozen=True)
class ContextPreview:
    """A context, its shares, and its rows; `rest` is how many rows are left out."""

    context: AssembledContext
    shares: list[ContextShare]
    rows: list[ContextRow]
    system: SafeString
    rest: int
    budget: int

    @property
    def sentence(self) -> str:
        return f"{self.context.tokens:,} of {self.budget:,} tokens"

    @property
    def is_over(self) -> bool:
        """Whether the fresh tail alone has more tokens than the budget."""
        return self.context.tokens > self.budget


def preview_context(
    session: Session, budget: int, fresh_tail: int, caller: Caller, *, with_memory: bool
) -> ContextPreview:
    """Assemble a context without freezing the session's snapshot."""
    preamble: Callable[[int], Preamble] = no_preamble
    if with_memory and is_memory_on(session.project, session.user_id, session):
        preamble = partial(
            build_preamble, MemoryPair.of_session(session), budget, _version_of(session)
        )
    found = assemble(session, budget, caller, fresh_tail=fresh_tail, preamble=preamble)
    shown = found.messages[-MAX_SHOWN:]
    return ContextPreview(
        found,
        _shares(found, budget),
        [
            ContextRow(each, panels.text_block(each.message.text, MAX_TEXT))
            for each in shown
        ],
        panels.text_block(found.system),
        len(found.messages) - len(shown),
        budget,
    )


def _version_of(session: Session) -> int:
    """Return the version that the session sees, or would see at its first use."""
    if session.snapshot_version is not None:
        return session.snapshot_version
    return MemoryPair.of_session(session).find().version


def _shares(found: AssembledContext, budget: int) -> list[ContextShare]:
    tail_seq = found.tail.from_seq
    summaries, older, tail = [], [], []
    for each in found.messages:
        if each.summary_id:
            summaries.append(each)
        elif tail_seq is not None and (each.seq or 0) >= tail_seq:
            tail.append(each)
        else:
            older.append(each)
    system = estimate_tokens(found.system)
    parts = [
        ("memory", "Soul, profile and constraints", int(bool(system)), system),
        ("summaries", "Summaries", len(summaries), _tokens(summaries)),
        ("older", "Older messages", len(older), _tokens(older)),
        ("tail", "Fresh tail", len(tail), _tokens(tail)),
    ]
    one_percent = max(budget, found.tokens, 1) / 100
    shares, start = [], 0.0
    for name, label, count, tokens in parts:
        percent = tokens / one_percent
        place = round(start, 2), round(percent, 2)
        shares.append(ContextShare(name, label, count, tokens, *place))
        start += percent
    return shares


def _tokens(messages: list[ContextMessage]) -> int:
    return sum(each.tokens for each in messages)
