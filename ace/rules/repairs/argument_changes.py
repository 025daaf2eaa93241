"""Compare the arguments of two calls."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from ace.rules.task import ToolCall, canonical_json
from ace.rules.tool_calls.argument_leaves import leaves

MAX_QUOTE = 600


class MissingValue:
    """The value of an argument that was not passed. None is a value that may be passed."""


MISSING: Final = MissingValue()


@dataclass(frozen=True, eq=False)
class ArgumentChange:
    """One leaf that changed. `key` is the last name in the path of the leaf."""

    path: str
    key: str
    before: Any
    after: Any


def compare(
    before: Mapping[str, Any], after: Mapping[str, Any]
) -> list[ArgumentChange]:
    """Return the leaves that differ between two calls, in the order of their paths."""
    old, new = leaves(before), leaves(after)
    found = []
    for path in sorted({**old, **new}):
        one, other = old.get(path, MISSING), new.get(path, MISSING)
        if type(one) is not type(other) or one != other:
            found.append(ArgumentChange(path, _own_name(path), one, other))
    return found


def locate(
    call: ToolCall, change: ArgumentChange | None, value: Any
) -> tuple[int, int]:
    """Return the span of `"key": value` in the call's arguments, or the span of all arguments."""
    text = call.arguments_text
    if change is not None and not isinstance(value, MissingValue):
        key = re.escape(json.dumps(change.key, ensure_ascii=False))
        literal = canonical_json(value)
        # The value may be a whole file, which would be slow to compile into a pattern.
        names = re.finditer(rf"{key}\s*:\s*", text)
        name = next((m for m in names if text.startswith(literal, m.end())), None)
        start = name.start() if name else text.find(literal)
        end = (name.end() if name else start) + len(literal)
        if start >= 0:
            return start, min(end, start + MAX_QUOTE)
    return 0, min(len(text), MAX_QUOTE)


def _own_name(path: str) -> str:
    names = [name for name in path.split(".") if not name.isdecimal()]
    return names[-1] if names else path
