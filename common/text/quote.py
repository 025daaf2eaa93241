"""Quote foreign text, so that it ends neither its field, nor its line, nor its list.

Foreign text is what a person, an agent, a tool or a web page has written. In a line that
an agent reads, each foreign text is a JSON string.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from hashlib import blake2b
from secrets import token_bytes
from typing import Any

from common.text import plain_text, prompt_injection
from common.text.visible import drop_invisible

MAX_FIELD = 200  # characters of a short field
MAX_READ = 5_000  # visible characters that are read before a text is shortened
CUT = "…"
MAX_HARMLESS = 20_000  # hashes of texts without prompt injections, about 2 MB
_HASH_KEY = token_bytes(16)
_harmless: set[bytes] = set()
_HIDABLE = re.compile(r"[^ -~]")
_NAME = re.compile(r"[a-z][a-z0-9_.-]{0,63}")
# A part of a line that a cut keeps or drops as a whole. Outside of a string, a line of
# ours has no backslash.
_STEP = re.compile(r"\\u[0-9a-f]{4}|\\.|.", re.DOTALL)


def visible_text(text: str) -> str:
    """Return what a reader sees of a text, with one kind of line break."""
    return plain_text.with_newlines(drop_invisible(text))


def visible_line(text: str) -> str:
    """Return what a reader sees of a text, on one line.

    Line breaks of every kind and other runs of white space become one space.
    """
    return " ".join(drop_invisible(text).split())


def safe_line(text: str, limit: int | None = None) -> str:
    """Return a text on one visible line, at most `limit` characters, that gives no orders.

    Prompt injections are defused before white space is collapsed, because some tags of
    speakers are found only at the start of a line, and again after it, because a phrase
    can be written on two lines.
    """
    visible = drop_invisible(text)
    if limit is not None:
        visible = visible[: max(MAX_READ, limit)]
    line = " ".join(_defuse(visible).split())
    if line != visible:
        line = _defuse(line)
    if limit is None or len(line) <= limit:
        return line
    return line[: limit - len(CUT)] + CUT


def _defuse(text: str) -> str:
    """Defuse prompt injections. The same texts are rendered again and again.

    The search for phrases takes 2 µs per character, so a process remembers the hashes of
    texts without such phrases, and no text.
    """
    data = text.encode("utf-8", "surrogatepass")
    key = blake2b(data, digest_size=16, key=_HASH_KEY).digest()
    if key in _harmless:
        return text
    defused = prompt_injection.defuse(text)
    if defused == text:
        if len(_harmless) >= MAX_HARMLESS:
            _harmless.clear()
        _harmless.add(key)
    return defused


def json_string(text: object, limit: int | None = MAX_FIELD) -> str:
    """Return a safe line as a JSON string. The limit counts without quotes and escapes."""
    return json.dumps(safe_line(str(text), limit), ensure_ascii=False)


def json_value(value: Any, limit: int = MAX_FIELD) -> str:
    """Return a value as JSON; as a JSON string that holds its JSON if it is too long."""
    if isinstance(value, str):
        return json_string(value, limit)
    text = json.dumps(_safe_value(value), ensure_ascii=False, sort_keys=True)
    if len(text) <= limit and _defuse(text) == text:
        return text
    return json_string(text, limit)


def _safe_value(value: Any) -> Any:
    if isinstance(value, str):
        return safe_line(value)
    if isinstance(value, list):
        return [_safe_value(each) for each in value]
    if isinstance(value, dict):
        return {safe_line(name): _safe_value(each) for name, each in value.items()}
    return value


def exact_json(value: Any) -> str:
    """Return JSON on one line that keeps each character; invisible ones are escapes."""
    text = json.dumps(value, ensure_ascii=False, sort_keys=True, allow_nan=False)
    return _HIDABLE.sub(_escape_invisible, text)


def _escape_invisible(match: re.Match[str]) -> str:
    character = match[0]
    is_visible = drop_invisible(character) == character
    return character if is_visible else json.dumps(character)[1:-1]


def name_or_string(text: str) -> str:
    """Return a plain name as it is, and any other text as a JSON string."""
    return text if _NAME.fullmatch(text) else json_string(text)


def cut_line(line: str, length: int, head: int = 0) -> str | None:
    """Cut a line to `length` characters after its first `head` characters.

    The cut keeps no part of an escape, and ends the JSON string that it is in. Return
    None if the head does not fit.
    """
    if len(line) <= length:
        return line
    kept, ending = "", ""
    for end, is_open in _steps(line):
        mark = CUT + '"' * is_open
        if end > length:
            break
        if head <= end <= length - len(mark):
            kept, ending = line[:end], mark
    return kept.rstrip(" ") + ending if ending else None


def _steps(line: str) -> Iterator[tuple[int, bool]]:
    """Yield each place where the line may be cut, and whether a string is open there."""
    is_open = False
    yield 0, is_open
    for step in _STEP.finditer(line):
        is_open = is_open != (step[0] == '"')
        yield step.end(), is_open
