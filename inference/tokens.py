from __future__ import annotations

BYTES_PER_TOKEN = 4  # design page 02: bytes, so that CJK is not under-counted


def estimate(text: str) -> int:
    """Return about how many tokens a model would count, never a provider's own count."""
    # A lone surrogate has no UTF-8 form; it is counted, not refused.
    size = len(text.encode("utf-8", "surrogatepass"))
    return -(-size // BYTES_PER_TOKEN)
