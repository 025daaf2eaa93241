"""Compare the arguments of a tool's failing call with those of one that worked.

A change is a repair if the error speaks of it: an argument has another name, was missing or is
not taken, or has another value or type.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ace.repairs.commands import stands_in
from ace.task import tool_calls
from ace.task.task import ToolCall, canonical_json

MAX_CHANGES = 4  # more make another call
MAX_ERROR = 2_000  # characters
MAX_VALUE = 40
_SENSITIVE = re.compile(r"token|secret|passw|auth|api_?key|cookie|credential", re.IGNORECASE)  # fmt: skip
# Of numbers, only a limit means the same in another task.
_LIMIT = re.compile(r"at (?:most|least)|maximum|minimum|no more than|up to|between|limit", re.IGNORECASE)  # fmt: skip
_KIND = re.compile(r"(?P<kind>(?:[A-Za-z]{2,20}[_-]){1,4})[\w-]{0,40}\d[\w-]{0,40}")
_REFUSED = re.compile(r"cannot be|can't be|not (?:allowed|accepted|supported|permitted|valid)|only\b", re.IGNORECASE)  # fmt: skip
_PLAIN = re.compile(r"[\w .:+-]{1,40}")
_ID = re.compile(r"\d{4,}|[0-9a-fA-F]{8,}|[A-Z]{1,10}\d{2,}")


@dataclass(frozen=True)
class ArgumentRepair:
    """What was passed, and what then worked; either is empty if the argument was left out."""

    failed: str
    worked: str


def compare(failed: ToolCall, worked: ToolCall) -> ArgumentRepair | None:
    """Return the change that the error speaks of, or None if it speaks of none."""
    before = tool_calls.leaves(failed.arguments)
    after = tool_calls.leaves(worked.arguments)
    gone = {path: value for path, value in before.items() if path not in after}
    new = {path: value for path, value in after.items() if path not in before}
    changed = [p for p in before.keys() & after.keys() if before[p] != after[p]]
    if not 0 < len(gone) + len(new) + len(changed) <= MAX_CHANGES:
        return None
    error = failed.result[:MAX_ERROR]
    had, has = set(map(key, before)), set(map(key, after))
    return _renamed(gone, new, error, had, has) or _revalued(
        changed, before, after, error
    )


def _renamed(
    gone: Mapping[str, Any],
    new: Mapping[str, Any],
    error: str,
    had: set[str],
    has: set[str],
) -> ArgumentRepair | None:
    """Return an argument with another name, or one that came or went."""
    for path, value in gone.items():
        for other in new:
            if new[other] == value and key(path) != key(other):
                return ArgumentRepair(f"`{key(path)}`", f"`{key(other)}`")
    asked = next((p for p in new if _speaks_of(error, key(p)) and key(p) not in had), None)  # fmt: skip
    refused = next((p for p in gone if _speaks_of(error, key(p)) and key(p) not in has), None)  # fmt: skip
    if asked is None and refused is None:
        return None
    return ArgumentRepair(
        f"`{key(refused)}`" if refused else "", f"`{key(asked)}`" if asked else ""
    )


def _revalued(
    changed: list[str], before: Mapping[str, Any], after: Mapping[str, Any], error: str
) -> ArgumentRepair | None:
    """Return an argument whose value the error offers, or that has another type or a mark."""
    for path in sorted(changed):
        old, new = before[path], after[path]
        if kind := _refused_kind(str(old), str(new), error):
            return ArgumentRepair("", f'a `{key(path)}` that does not start with "{kind}"')  # fmt: skip
        if _SENSITIVE.search(path) or not _is_plain(new):
            continue
        is_value = isinstance(new, str) or _LIMIT.search(error)
        offered = is_value and stands_in(str(new), error.replace(str(old), ""))
        is_typed = str(old) == str(new) and type(old) is not type(new)
        if offered or is_typed:
            name = key(path)
            return ArgumentRepair(
                f"`{name}`: {_write(old)}", f"`{name}`: {_write(new)}"
            )
    return None


def _refused_kind(old: str, new: str, error: str) -> str:
    """Return how an id begins whose kind the error refuses: `voucher_7` is a voucher."""
    first, other = _KIND.fullmatch(old), _KIND.fullmatch(new)
    if not first or not other or first["kind"] == other["kind"]:
        return ""
    is_refused = _REFUSED.search(error) and _speaks_of(error, first["kind"])
    return first["kind"] if is_refused else ""


def _speaks_of(error: str, name: str) -> bool:
    """Return whether the error has the name of an argument, or all words of it."""
    if stands_in(name, error):
        return True
    known = {word.lower() for part in re.split(r"\W+", error) for word in tool_calls.split_name(part)}  # fmt: skip
    return set(tool_calls.split_name(name)) <= known


def key(path: str) -> str:
    """Return the own name of a leaf: `items.0.sku` is `sku`."""
    names = [name for name in path.split(".") if not name.isdecimal()]
    return names[-1] if names else path


def _is_plain(value: object) -> bool:
    """Return whether a value may mean the same in another task."""
    text = str(value)
    is_scalar = isinstance(value, str | int | float | bool)
    return is_scalar and bool(_PLAIN.fullmatch(text)) and not _ID.search(text)


def _write(value: object) -> str:
    return canonical_json(value)[:MAX_VALUE]
