"""Length limits of the texts in entries, proposals and decisions (docs/limits.md)."""

from __future__ import annotations

MAX_CONTENT, MAX_PART, MAX_REASON, MAX_QUOTE, MAX_TAG = 4_000, 1_000, 1_000, 4_000, 64
MAX_INTEGER = 2**31 - 1
MIN_INTEGER = -(2**31)
