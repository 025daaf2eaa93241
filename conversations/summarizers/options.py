"""What every summarizer takes, and how it fails."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from conversations.tokens import estimate_tokens

SUMMARIZE_POLICY_NORMAL = "normal"
SUMMARIZE_POLICY_AGGRESSIVE = "aggressive"
MIN_TARGET = 10  # tokens of a summary (07a, L5 and L6)


@dataclass(frozen=True)
class SummarizeOptions:
    """How to summarize a text (seed 002).

    `previous` is the summary before the text, for continuity. Without `target_tokens`, the
    target is a third of the text for messages, and a half for summaries.
    """

    is_condensed: bool = False
    depth: int = 0
    aggressive: bool = False
    previous: str = ""
    target_tokens: int = 0

    @property
    def policy(self) -> str:
        aggressive = self.aggressive
        return SUMMARIZE_POLICY_AGGRESSIVE if aggressive else SUMMARIZE_POLICY_NORMAL

    def target_of(self, text: str) -> int:
        """Return the tokens that a summary of this text should have."""
        share = 2 if self.is_condensed else 3
        return self.target_tokens or max(MIN_TARGET, estimate_tokens(text) // share)


class SummarizerFailure(Exception):
    """The summarizer gave no usable summary; nothing was changed."""


class Summarizer(Protocol):
    """Generates a summary of a text."""

    name: str
    # The characters of a tool's result that the summarizer reads.
    max_result: int

    def summarize(self, text: str, options: SummarizeOptions) -> str:
        """Return a summary that is not blank; raise SummarizerFailure."""
        ...
