"""The estimate of tokens, under the name of the session-memory contract (seed 002)."""

from __future__ import annotations

from inference import tokens


def estimate_tokens(text: str) -> int:
    """Return the UTF-8 bytes of a text divided by four, rounded up."""
    return tokens.estimate(text)
