"""Put values into JSON with comments, and take exactly them out again.

A text is never parsed and written anew: what is foreign keeps its comments, its order and
its spaces, byte by byte.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

_SKIP = re.compile(r"[ \t\r\n\ufeff]+|//[^\n]*|/\*.*?\*/", re.S)
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"', re.S)
_SCALAR = re.compile(r"[^\s,\]}/]+")
# A comma after one of these is never the last.
_OPEN: tuple[list[str], ...] = (["{"], ["["], [","], [])


class NotJson(ValueError):
    """The text is no JSON with comments."""


@dataclass(frozen=True)
class JsonItem:
    """A value inside an object or an array: its key, and where the two stand.

    `comma` is the place of the comma before it; None if it is the first.
    """

    key: str | None
    start: int
    value_start: int
    end: int
    comma: int | None = None


def load(text: str) -> Any:
    """Return the value of a text; raises `NotJson`. Comments and last commas are allowed."""
    tokens: list[str] = []
    at = skip_space(text, 0)
    while at < len(text):
        end = at + 1 if text[at] in "{}[]:," else end_of_value(text, at)
        if text[at] in "}]" and tokens[-1:] == [","] and tokens[-2:-1] not in _OPEN:
            tokens.pop()
        tokens.append(text[at:end])
        at = skip_space(text, end)
    try:
        return json.loads(" ".join(tokens))
    except (ValueError, RecursionError) as error:
        raise NotJson(str(error)) from error


def skip_space(text: str, at: int) -> int:
    """Return the next position that is neither space nor a comment."""
    while match := _SKIP.match(text, at):
        at = match.end()
    return at


def end_of_value(text: str, at: int) -> int:
    opening = text[at : at + 1]
    if opening in ("{", "["):
        return _end_of_container(text, at)
    pattern = _STRING if opening == '"' else _SCALAR
    match = pattern.match(text, at)
    if match is None:
        raise NotJson(f"there is no value at character {at}")
    return match.end()


def _end_of_container(text: str, at: int) -> int:
    """Find the closing bracket without recursion: a file may be as deep as it likes."""
    depth = 0
    while True:
        at = skip_space(text, at)
        sign = text[at : at + 1]
        if not sign:
            raise NotJson("a bracket is not closed")
        if sign == '"':
            at = end_of_value(text, at)
            continue
        depth += (sign in "{[") - (sign in "}]")
        at += 1
        if not depth:
            return at


def read_items(text: str, start: int) -> Iterator[JsonItem]:
    """Yield what is directly inside the object or array at a position."""
    is_object, at = text[start] == "{", skip_space(text, start + 1)
    comma = None
    while text[at : at + 1] not in ("}", "]"):
        key, begin = None, at
        if is_object:
            end = end_of_value(text, at)
            try:
                key = json.loads(text[at:end])
            except ValueError as error:
                raise NotJson(f"there is no key at character {at}") from error
            at = skip_space(text, end)
            if text[at : at + 1] != ":":
                raise NotJson(f"a colon is missing at character {at}")
            at = skip_space(text, at + 1)
        end = end_of_value(text, at)
        yield JsonItem(key, begin, at, end, comma)
        at = skip_space(text, end)
        comma = at
        if text[at : at + 1] == ",":
            at = skip_space(text, at + 1)
        elif text[at : at + 1] not in ("}", "]"):
            raise NotJson(f"a comma is missing at character {at}")


def find(text: str, path: Sequence[str]) -> JsonItem | None:
    """Return the item at a path of keys; None if there is none."""
    at = skip_space(text, 0)
    item: JsonItem | None = None
    for key in path:
        if text[at : at + 1] != "{":
            return None
        item = next((i for i in read_items(text, at) if i.key == key), None)
        if item is None:
            return None
        at = item.value_start
    return item


@dataclass(frozen=True)
class TextEdit:
    """A new text, and the piece that was put into it."""

    text: str
    snippet: str


def put(text: str, path: Sequence[str], value: Any, *, is_element: bool) -> TextEdit:
    """Put a value at a path, or as an element of the array at the path.

    Only missing keys are added, at the beginning of the deepest object that exists, so the
    new piece is in one place and needs no comma of a neighbour.
    """
    depth = len(path)
    while depth and find(text, path[:depth]) is None:
        depth -= 1
    item = find(text, path[:depth]) if depth else None
    container = item.value_start if item else skip_space(text, 0)
    missing = list(path[depth:])
    nested = [value] if is_element and missing else value
    for key in reversed(missing[1:]):
        nested = {key: nested}
    opening = text[container : container + 1]
    if opening != ("{" if missing else "["):
        raise NotJson(f"{'.'.join(path[:depth]) or 'the file'} has another form")
    is_empty = next(read_items(text, container), None) is None
    indent = "  " * (depth + 1)
    written = json.dumps(nested, indent=2, ensure_ascii=False).replace(
        "\n", f"\n{indent}"
    )
    key_text = f"{json.dumps(missing[0])}: " if missing else ""
    closing = f"\n{'  ' * depth}" if is_empty and text[container + 1] in "}]" else ""
    snippet = f"\n{indent}{key_text}{written}{'' if is_empty else ','}{closing}"
    if "\r\n" in text:
        snippet = snippet.replace("\n", "\r\n")
    return TextEdit(text[: container + 1] + snippet + text[container + 1 :], snippet)


def take(text: str, path: Sequence[str], is_ours: Callable[[Any], bool]) -> str:
    """Take out the value at a path, or our elements of the array there.

    This is for a file that its program has written anew, so that the exact piece is gone.
    Objects and arrays above that are empty then are taken out too.
    """
    item = find(text, path)
    if item is None:
        return text
    if text[item.value_start] == "[":
        left = _take_elements(text, item.value_start, is_ours)
        if left == text or not _is_empty(left, item.value_start):
            return left
        text, item = left, replace(item, end=end_of_value(left, item.value_start))
    elif not is_ours(load(text[item.value_start : item.end])):
        return text
    text = _cut(text, item)
    for depth in range(len(path) - 1, 0, -1):
        above = find(text, path[:depth])
        if above is None or not _is_empty(text, above.value_start):
            break
        text = _cut(text, above)
    return text


def _is_empty(text: str, container: int) -> bool:
    return next(read_items(text, container), None) is None


def _take_elements(text: str, array: int, is_ours: Callable[[Any], bool]) -> str:
    """Take our elements out of an array, and ours of the `hooks` of an element."""
    # The last one first, so that the places of the others stay true.
    for item in reversed(list(read_items(text, array))):
        inner = _hooks_of(text, item)
        if inner is None:
            if is_ours(load(text[item.value_start : item.end])):
                text = _cut(text, item)
            continue
        left = _take_elements(text, inner, is_ours)
        if left != text and _is_empty(left, inner):
            # Nothing before the inner array has moved, so the element begins where it did.
            left = _cut(left, replace(item, end=end_of_value(left, item.value_start)))
        text = left
    return text


def _hooks_of(text: str, item: JsonItem) -> int | None:
    """Return where the array `hooks` of an element begins; None if it has none."""
    if text[item.value_start] != "{":
        return None
    starts = (
        i.value_start for i in read_items(text, item.value_start) if i.key == "hooks"
    )
    return next((at for at in starts if text[at] == "["), None)


def _cut(text: str, item: JsonItem) -> str:
    """Cut an item with its comma: that after it, or else that before it; comments stay."""
    end = skip_space(text, item.end)
    if text[end] == ",":
        after = text[end + 1 :]
        # The next item takes the place of this one.
        return text[: item.start] + text[item.end : end] + after.lstrip(" \t\r\n")
    if item.comma is None:
        before = text[: item.start].rstrip()
        is_bare = before.endswith(("{", "["))
        return (before if is_bare else text[: item.start]) + text[item.end :]
    gap = text[item.comma + 1 : item.start]
    return text[: item.comma] + (gap if gap.strip() else "") + text[item.end :]
