"""Placeholders of a tool's definition: `{argument}`, and `{secret:NAME}` in headers."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote

NAME = r"[A-Za-z_][A-Za-z0-9_.-]{0,63}"
ARGUMENT = re.compile(rf"\{{({NAME})\}}")
SECRET = re.compile(rf"\{{secret:({NAME})\}}")
BRACES = re.compile(r"[{}]")


def find_argument_names(value: Any) -> set[str]:
    """Return the arguments that the texts of a JSON value name."""
    return {name for text in _texts(value) for name in ARGUMENT.findall(text)}


def find_secret_names(value: Any) -> set[str]:
    """Return the secrets that the texts of a JSON value name."""
    return {name for text in _texts(value) for name in SECRET.findall(text)}


def has_stray_braces(text: str) -> bool:
    """Return whether a text has a brace that belongs to no placeholder."""
    return bool(BRACES.search(SECRET.sub("", ARGUMENT.sub("", text))))


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from _texts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(inner)


def fill_url(template: str, arguments: Mapping[str, Any]) -> str:
    """Put arguments into an address, percent-encoded, so that each stays one part of it."""
    return ARGUMENT.sub(
        lambda match: quote(to_text(arguments.get(match[1], "")), safe=""), template
    )


def fill_header(template: str, secrets: Mapping[str, str]) -> str:
    return SECRET.sub(lambda match: secrets[match[1]], template)


def fill_text(template: str, arguments: Mapping[str, Any]) -> str:
    """Put arguments into a text as they are."""
    return ARGUMENT.sub(lambda match: to_text(arguments.get(match[1], "")), template)


def fill_value(template: Any, arguments: Mapping[str, Any]) -> Any:
    """Put arguments into the texts of a JSON value.

    A text that is one placeholder becomes the argument with its own type; null stands for an
    optional argument that the call lacks.
    """
    if isinstance(template, str):
        whole = ARGUMENT.fullmatch(template)
        return arguments.get(whole[1]) if whole else fill_text(template, arguments)
    if isinstance(template, list):
        return [fill_value(inner, arguments) for inner in template]
    if isinstance(template, Mapping):
        return {name: fill_value(inner, arguments) for name, inner in template.items()}
    return template


def to_text(value: Any) -> str:
    """Write a value in an address or a text: a text as it is, anything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
