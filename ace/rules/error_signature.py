"""Mask the values that vary, so that the same error has the same signature in every run."""

from __future__ import annotations

import re

# In characters. After this many, a message adds only values that would be masked.
MAX_MESSAGE = 300

_NUMBERS: tuple[tuple[re.Pattern[str], str], ...] = (
    (
        re.compile(r"\b[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\b"),
        "<id>",
    ),
    (
        re.compile(
            r"\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d{1,9})?)?)?"
            r"(?:Z|[+-]\d\d:?\d\d)?(?!\d)"
        ),
        "<time>",
    ),
    (re.compile(r"\b\d\d:\d\d:\d\d(?:[.,]\d{1,9})?\b"), "<time>"),
    (
        re.compile(
            r"\b\d{1,12}(?:\.\d{1,9})?[ ]?(?:ms|µs|us|ns|s|secs?|seconds?|mins?|minutes?"
            r"|h|hrs?|hours?|days?|milliseconds?)\b"
        ),
        "<duration>",
    ),
    (re.compile(r"\b0x[0-9a-fA-F]{1,64}\b"), "<hex>"),
    (re.compile(r"\b(?=[0-9a-f]{0,63}\d)(?=\d{0,63}[a-f])[0-9a-f]{7,64}\b"), "<hex>"),
    (re.compile(r"\d{1,40}(?:[.,]\d{1,40}){0,5}"), "<n>"),
)  # fmt: skip
_FOLDER = re.compile(
    r"(?<![\w./~-])(?:~|[A-Za-z]:)?(?:[/\\][^\s/\\:\"']{1,100}){1,30}[/\\]"
)
_SPACE = re.compile(r"\s{1,300}")


def mask_values(message: str) -> str:
    """Mask ids, times, durations, folders and numbers: "after 31s" becomes equal to "after 29s"."""
    return mask_text(message[:MAX_MESSAGE])


def mask_text(text: str) -> str:
    """Mask the same values in the whole text, which must be short."""
    return mask_numbers(_FOLDER.sub("<dir>/", text))


def mask_numbers(text: str) -> str:
    """Mask ids, times, durations and numbers in the whole text, which must be short."""
    for pattern, mask in _NUMBERS:
        text = pattern.sub(mask, text)
    return _SPACE.sub(" ", text).strip()


def build(kind: str, error_type: str, code: str | None, message: str) -> str:
    return "|".join((kind, error_type, code or "", mask_values(message).lower()))
