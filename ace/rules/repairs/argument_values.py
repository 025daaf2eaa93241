"""Classify the values of tool arguments, and write them for the text of a lesson."""

from __future__ import annotations

import re

_ID = re.compile(r"\d{4,}|[0-9a-fA-F]{8,}|[A-Z]{1,10}\d{2,}")


def is_plain(value: object) -> bool:
    if isinstance(value, bool) or is_number(value):
        return True
    if not isinstance(value, str) or not 0 < len(value) <= 40:
        return False
    return not _ID.search(value) and not any(char in value for char in '\n`"{}')


def is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def render(value: object) -> str:
    """Write a value as canonical JSON does, so that a quote of the arguments contains the text."""
    if isinstance(value, bool):
        return str(value).lower()
    return f'"{value}"' if isinstance(value, str) else str(value)


def type_of(value: object) -> str:
    if isinstance(value, bool):
        return "a boolean"
    if is_number(value):
        return "a number"
    if isinstance(value, list):
        return "a list"
    return "text" if isinstance(value, str) else ""


def shape_of(text: str) -> str:
    return re.sub(r"[A-Za-z]{1,60}", "a", re.sub(r"\d", "9", text))
