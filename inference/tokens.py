"""The one estimate of tokens, for every budget."""

from __future__ import annotations

BYTES_PER_TOKEN = 4  # design page 02: bytes, so that CJK is not under-counted


def estimate(text: str) -> int:
    """Estimate the tokens of a text; never a provider's own count."""
    # Counts a lone surrogate, which has no UTF-8 form.
    size = len(text.encode("utf-8", "surrogatepass"))
    return -(-size // BYTES_PER_TOKEN)
