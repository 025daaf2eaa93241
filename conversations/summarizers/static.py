"""A summarizer that always returns the same text, for tests."""

from __future__ import annotations

from dataclasses import dataclass

from conversations.summarizers.input_text import MAX_RESULT
from conversations.summarizers.options import SummarizeOptions


@dataclass
class StaticSummarizer:
    """Return `response`, or raise `error`."""

    response: str = ""
    error: Exception | None = None
    name: str = "static"
    max_result: int = MAX_RESULT

    def summarize(self, text: str, options: SummarizeOptions) -> str:
        if self.error:
            raise self.error
        return self.response
