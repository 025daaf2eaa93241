"""Find and replace what PostgreSQL cannot store in a JSON value."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Any, NoReturn

from common.text import plain_text


class EqualKeys(ValueError):
    """Two keys of the object at this path become the same."""


class TooDeep(json.JSONDecodeError):
    """A value is nested too deep; its position is the end of the value."""


@dataclass(frozen=True)
class StorableJSON:
    """A value whose texts can be stored, and the paths of the texts that were replaced."""

    value: Any
    replaced: tuple[str, ...] = ()


def parse(text: str, *, levels: int) -> Any:
    """Parse JSON; raise ValueError for what cannot be stored, such as NaN or 1e400.

    A value with more than `levels` lists and objects in each other is refused too.
    """
    value = json.loads(text, parse_constant=_refuse, parse_float=_parse_real)
    if is_deeper(value, levels):
        raise ValueError(f"The value is nested deeper than {levels} levels.")
    return value


def read(text: str, place: int = 0, *, levels: int) -> tuple[Any, int]:
    """Return the JSON value that begins at a place, and where it ends.

    What cannot be stored loses nothing around it: NaN becomes null, and a number that is too
    large the text of its digits.
    """
    value, end = _GENEROUS.raw_decode(text, place)
    if is_deeper(value, levels):
        raise TooDeep(f"Deeper than {levels} levels", text, end)
    return value, end


def is_deeper(value: Any, levels: int) -> bool:
    """Return whether a value has more than this many lists and objects in each other."""
    level: list[Any] = [value] if isinstance(value, dict | list) else []
    for _ in range(levels):
        level = [
            inner
            for outer in level
            for inner in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(inner, dict | list)
        ]
        if not level:
            return False
    return True


def _parse_real(digits: str) -> float:
    return value if math.isfinite(value := float(digits)) else _refuse(digits)


def _refuse(number: str) -> NoReturn:
    raise ValueError(f"{number} cannot be stored.")


def _read_real(digits: str) -> float | str:
    return value if math.isfinite(value := float(digits)) else digits


def _read_whole(digits: str) -> int | str:
    return int(digits) if len(digits) <= MAX_DIGITS else digits


MAX_DIGITS = 1_000  # of a whole number; Python reads 4,300
_GENEROUS = json.JSONDecoder(
    parse_constant=lambda _: None, parse_float=_read_real, parse_int=_read_whole
)


def make_storable(value: Any) -> StorableJSON:
    """Replace each NUL and each lone surrogate by U+FFFD, which keeps every offset.

    The depth of the value must be limited.
    """
    replaced: list[str] = []
    return StorableJSON(_replace(value, "", replaced), tuple(replaced))


def find_unstorable(value: Any) -> str | None:
    """Return the path of a text that cannot be stored; None if all can be stored."""
    try:
        return next(iter(make_storable(value).replaced), None)
    except EqualKeys as error:
        return str(error)


def _replace(value: Any, path: str, replaced: list[str]) -> Any:
    if isinstance(value, str):
        if plain_text.find_unstorable(value):
            replaced.append(path)
            return plain_text.make_storable(value)
        return value
    if isinstance(value, list):
        return [_replace(x, f"{path}.{n}", replaced) for n, x in enumerate(value)]
    if isinstance(value, dict):
        return _replace_in_object(value, path, replaced)
    return value


def _replace_in_object(
    value: dict[str, Any], path: str, replaced: list[str]
) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, inner in value.items():
        key = plain_text.make_storable(name)
        if key != name:
            replaced.append(f"{path}.(a key)" if path else "(a key)")
        if key in found:
            raise EqualKeys(path or "body")
        found[key] = _replace(inner, f"{path}.{key}" if path else key, replaced)
    return found
