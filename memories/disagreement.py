from __future__ import annotations


def reason_to_keep_apart(a: str, b: str) -> str | None:
    return None
