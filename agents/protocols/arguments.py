"""Read the arguments of a call, which a model writes as a JSON object."""

from __future__ import annotations

import json
from typing import Any, NoReturn

from agents.protocols.decision import UnreadableAnswer
from inference.json_text import make_storable

MAX_DEPTH = 64  # of objects and lists within each other
INVALID = "Invalid JSON in Args"


class ObjectText:
    """The text of a JSON object as it comes; it is complete with its last brace."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._depth = 0
        self._is_string = False
        self._is_escape = False
        self.is_complete = False
        self.is_invalid = False

    @property
    def is_begun(self) -> bool:
        return bool(self._parts)

    @property
    def text(self) -> str:
        return "".join(self._parts)

    def add(self, text: str) -> None:
        """Add what comes next; what follows the last brace is dropped."""
        if not self.is_begun:
            text = text.lstrip()
            if not text:
                return
            if not text.startswith("{"):
                self.is_invalid = True
        for at, sign in enumerate(text):
            self._read(sign)
            if self.is_complete or self.is_invalid:
                text = text[: at + 1]
                break
        self._parts.append(text)

    def _read(self, sign: str) -> None:
        if self._is_escape:
            self._is_escape = False
        elif self._is_string:
            self._is_escape = sign == "\\"
            self._is_string = sign != '"'
        elif sign == '"':
            self._is_string = True
        elif sign in "{[":
            self._depth += 1
            self.is_invalid = self._depth > MAX_DEPTH
        elif sign in "}]":
            self._depth -= 1
            self.is_complete = self._depth == 0


def parse_arguments(text: str) -> dict[str, Any]:
    """Return the arguments; PostgreSQL can store them. Raise UnreadableAnswer.

    Line breaks within strings are allowed, because models write them.
    """
    if not text.strip():
        return {}
    try:
        value = json.loads(text, strict=False, parse_constant=_refuse)
        # A number may be larger than JSON's readers take: 1e999 is read as infinity.
        json.dumps(value, allow_nan=False)
    except (ValueError, RecursionError) as error:
        raise UnreadableAnswer(f"{INVALID}: {_reason(error)}") from error
    if not isinstance(value, dict):
        raise UnreadableAnswer(f"{INVALID}: write an object, as {{}}.")
    stored: dict[str, Any] = make_storable(value)
    return stored


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON")


def _reason(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    return str(error)[:200]
