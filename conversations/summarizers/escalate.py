"""Shorten a summary in three steps: normal, aggressive, and a cut (seed 002)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from conversations.summarizers.options import SummarizeOptions, SummarizerFailure
from conversations.tokens import estimate_tokens

# A summary with more than this many times its target is too long.
MOST_OVER_TARGET = 1.5
CHARACTERS_PER_TOKEN = 4
CUT_MARK = "[Truncated — expand for full details]"

Summarize = Callable[[str, SummarizeOptions], str]


def escalate(summarize: Summarize, text: str, options: SummarizeOptions) -> str:
    """Return a summary near the target.

    If the normal summary is too long, or no shorter than the text, ask for an aggressive one.
    If that is too long as well, cut it. Raise SummarizerFailure if a summary is blank.
    """
    target = options.target_of(text)
    options = replace(options, target_tokens=target)
    summary = _not_blank(summarize(text, options))
    is_shorter = estimate_tokens(summary) < estimate_tokens(text)
    if is_shorter and not _is_too_long(summary, target):
        return summary
    if not _is_too_long(summary, target) and options.aggressive:
        return summary
    summary = _not_blank(summarize(text, replace(options, aggressive=True)))
    return cut(summary, target) if _is_too_long(summary, target) else summary


def _not_blank(summary: str) -> str:
    if not summary.strip():
        raise SummarizerFailure("The summarizer answered with a blank text.")
    return summary.strip()


def _is_too_long(summary: str, target: int) -> bool:
    return estimate_tokens(summary) > MOST_OVER_TARGET * target


def cut(text: str, target: int) -> str:
    """Cut a text to four characters a token, and say so.

    The cut is at a line break past the middle, else after a sentence past the middle.
    """
    limit = target * CHARACTERS_PER_TOKEN
    if len(text) <= limit:
        return text
    short = text[:limit]
    half = limit // 2
    end = short.rfind("\n")
    if end <= half:
        end = short.rfind(". ") + 1
    if end > half:
        short = short[:end]
    return f"{short.rstrip()}\n\n{CUT_MARK}"
