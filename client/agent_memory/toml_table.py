"""Put a table at the end of a TOML file, and take exactly it out again."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from agent_memory.jsonc import TextEdit

Values = Mapping[str, str | list[str]]
_HEADER = re.compile(r"[ \t]*\[")


class NotToml(ValueError):
    """The text is no TOML, or would be none with the table."""


def load(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise NotToml(str(error)) from error


def put(text: str, keys: Sequence[str], values: Values) -> TextEdit:
    name = ".".join(keys)
    lines = [f"[{name}]", *(f"{k} = {_write(v)}" for k, v in values.items()), ""]
    newline = "\r\n" if "\r\n" in text else "\n"
    before = "" if not text else newline if text.endswith("\n") else newline * 2
    snippet = before + newline.join(lines)
    try:
        load(text + snippet)
    except NotToml as error:
        raise NotToml(f"it cannot take the table [{name}]: {error}") from error
    return TextEdit(text + snippet, snippet)


def _write(value: str | list[str]) -> str:
    # A basic string of TOML has the escapes of JSON.
    return json.dumps(value, ensure_ascii=False)


def find(text: str, keys: Sequence[str]) -> Any:
    """Return what is at a path of keys; None if nothing is there."""
    value: Any = load(text)
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def take(text: str, keys: Sequence[str]) -> str:
    """Take out a table, without those below it, if its program moved it."""
    return _cut(text, lambda header: header == tuple(keys))


def take_orphans(text: str, keys: Sequence[str]) -> str:
    """Take out the tables below one that is gone: Codex refuses a server that has only these."""
    table = find(text, keys)
    if not isinstance(table, dict) or not all(
        isinstance(value, dict) for value in table.values()
    ):
        return text
    return _cut(text, lambda header: header[: len(keys)] == tuple(keys))


def _cut(text: str, is_cut: Callable[[tuple[str, ...]], bool]) -> str:
    """Cut the tables with these headers; a comment after the last value of one stays."""
    kept: list[str] = []
    held: list[
        str
    ] = []  # spaces and comments since the last value of a table that goes
    is_inside = False
    for line in text.splitlines(keepends=True):
        header = _read_header(line)
        if header:
            kept += held
            held, is_inside = [], is_cut(header)
        elif not is_inside:
            kept.append(line)
        elif line.strip() and not line.lstrip().startswith("#"):
            held = []
        elif line.strip() or held:
            held.append(line)
        if header and not is_inside:
            kept.append(line)
    return "".join(kept + held)


def _read_header(line: str) -> tuple[str, ...]:
    """Return the keys of the header of a table; none if the line is no header."""
    if not _HEADER.match(line):
        return ()
    try:
        value: Any = tomllib.loads(line)
    except tomllib.TOMLDecodeError:  # the rest of a list, which has no line of its own
        return ()
    keys = []
    while isinstance(value, dict) and value:
        [(key, value)] = value.items()
        keys.append(key)
    return tuple(keys)
