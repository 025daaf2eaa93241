"""Put a table at the end of a TOML file, and take exactly it out again."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping

from agent_memory.jsonc import TextEdit

Values = Mapping[str, str | list[str]]


class NotToml(ValueError):
    """The text is no TOML, or would be none with the table."""


def put(text: str, name: str, values: Values) -> TextEdit:
    lines = [f"[{name}]", *(f"{k} = {_write(v)}" for k, v in values.items()), ""]
    newline = "\r\n" if "\r\n" in text else "\n"
    before = "" if not text else newline if text.endswith("\n") else newline * 2
    snippet = before + newline.join(lines)
    try:
        tomllib.loads(text + snippet)
    except tomllib.TOMLDecodeError as error:
        raise NotToml(f"it cannot take the table [{name}]: {error}") from error
    return TextEdit(text + snippet, snippet)


def _write(value: str | list[str]) -> str:
    # A basic string of TOML has the escapes of JSON.
    return json.dumps(value, ensure_ascii=False)


def take(text: str, name: str) -> str:
    """Take out a table with what follows it up to the next one, if its program moved it."""
    pattern = rf"^\[{re.escape(name)}\][^\n]*\n(?:(?!\[)[^\n]*\n?)*"
    return re.sub(pattern, "", text, flags=re.M)
