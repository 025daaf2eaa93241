"""Summarize with a language model."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from conversations.summarizers.escalate import escalate
from conversations.summarizers.input_text import MAX_RESULT
from conversations.summarizers.options import SummarizeOptions
from conversations.summarizers.prompt import build_prompt

# Models write what they think in these elements; a summary never holds it.
_THINKING = re.compile(
    r"<(think|thinking|reasoning)>.*?(?:</\1>|\Z)", re.DOTALL | re.IGNORECASE
)


@dataclass
class LLMSummarizer:
    """Generates summaries by a function that sends a prompt to a language model."""

    generate: Callable[[str], str]
    name: str = "model"
    max_result: int = MAX_RESULT

    def summarize(self, text: str, options: SummarizeOptions) -> str:
        """Return a summary, shorten in three steps; an error of `generate` passes through."""
        return escalate(self._ask, text, options)

    def _ask(self, text: str, options: SummarizeOptions) -> str:
        return _THINKING.sub("", self.generate(build_prompt(text, options))).strip()
