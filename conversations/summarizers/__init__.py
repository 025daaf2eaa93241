"""Summarizers: a language model, sentences taken from the text, and a fixed text for tests.

Nothing here reads the database.
"""

from __future__ import annotations

from conversations.summarizers.extractive import ExtractiveSummarizer
from conversations.summarizers.llm import LLMSummarizer
from conversations.summarizers.options import (
    SUMMARIZE_POLICY_AGGRESSIVE,
    SUMMARIZE_POLICY_NORMAL,
    SummarizeOptions,
    Summarizer,
    SummarizerFailure,
)
from conversations.summarizers.prompt import build_prompt
from conversations.summarizers.static import StaticSummarizer

__all__ = [
    "SUMMARIZE_POLICY_AGGRESSIVE",
    "SUMMARIZE_POLICY_NORMAL",
    "ExtractiveSummarizer",
    "LLMSummarizer",
    "StaticSummarizer",
    "SummarizeOptions",
    "Summarizer",
    "SummarizerFailure",
    "build_prompt",
]
