"""Read the tokens that an OpenAI-compatible server has counted."""

from __future__ import annotations

from typing import Any, TypeGuard

from inference.errors import Usage

MAX_TOKEN_COUNT = 2**31 - 1  # the largest valid count; some servers answer -1


def read_usage(answer: dict[str, Any]) -> Usage | None:
    """Return the usage of a completion or of a chunk; None if it has no valid one."""
    usage = answer.get("usage")
    if not isinstance(usage, dict):
        return None
    prompt, completion = usage.get("prompt_tokens"), usage.get("completion_tokens")
    if _is_count(prompt) and _is_count(completion):
        return Usage(prompt, completion)
    return None


def _is_count(value: Any) -> TypeGuard[int]:
    return type(value) is int and 0 <= value <= MAX_TOKEN_COUNT
