"""The one estimate of tokens, for every budget."""

from __future__ import annotations

BYTES_PER_TOKEN = 4  # design page 02: a count of characters would be too low for CJK


def estimate(text: str) -> int:
    """Estimate the tokens of a text; the estimate never uses a provider's own count."""
    # This also counts lone surrogates, which have no UTF-8 form.
    size = len(text.encode("utf-8", "surrogatepass"))
    return -(-size // BYTES_PER_TOKEN)
