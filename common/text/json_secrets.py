"""Mask the secrets in a JSON value, by the names of its fields and by their look.

`{"password": "x"}` is a secret by its name. So are `{"name": "password", "value": "x"}`,
the item after `--password` in a list of arguments, and the login in a dict of cookies.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from common.text import secrets
from common.text.secret_rules import names, placeholders, values
from common.text.secret_rules.headers import is_cookie_secret
from common.text.secret_rules.spans import is_random

_LEAST_NUMBER = 1000
MOST_ARGUMENTS = 500

# A function that replaces the masks in an identifier, so that two identifiers stay two.
Distinguish = Callable[[str, str], str]


@dataclass
class JsonMasker:
    """Masks JSON values and collects the kinds of secrets that it found.

    `distinguish` is called with the original and the masked text of a field in
    `identifiers`.
    """

    identifiers: frozenset[str] = frozenset()
    distinguish: Distinguish | None = None
    kinds: dict[str, None] = field(default_factory=dict)

    def mask(self, value: Any, name: str = "") -> Any:
        """Return the value with its secrets masked; `name` is the name of its field."""
        if isinstance(value, str):
            return self._mask_text(value, name)
        if isinstance(value, dict):
            return self._mask_object(value, name)
        if isinstance(value, list | tuple):
            return type(value)(self._mask_list(value, name))
        if (
            type(value) is int
            and value >= _LEAST_NUMBER
            and names.classify(name) == "password"
        ):
            return self._replacement("password")
        return value

    def mask_text(self, text: str) -> str:
        found = secrets.mask(text)
        self.kinds.update(dict.fromkeys(found.kinds))
        return found.text

    def _mask_text(self, text: str, name: str) -> str:
        masked = (
            self._mask_named(text, names.classify(name))
            if name
            else self.mask_text(text)
        )
        if masked != text and self.distinguish and name in self.identifiers:
            return self.distinguish(text, masked)
        return masked

    def _mask_named(self, text: str, kind: str) -> str:
        """Mask a text in a field whose name says that it is a secret."""
        if kind == "cookie":
            return self._mask_after("Cookie: ", text)
        if kind == "authorization":
            return self._mask_credential(text)
        if (
            kind
            and kind != "connection-string"
            and values.is_secret(text, kind, "json")
        ):
            found = secrets.mask(text)
            whole = (
                found.kinds if found.text == f"[secret:{''.join(found.kinds)}]" else ()
            )
            return self._replacement(whole[0] if whole else names.shown_kind(kind))
        return self.mask_text(text)

    def _mask_after(self, prefix: str, text: str) -> str:
        masked = self.mask_text(prefix + text)
        return masked.removeprefix(prefix)

    def _mask_credential(self, text: str) -> str:
        masked = self._mask_after("Authorization: ", text)
        opaque = (
            masked == text
            and is_random(text, least=8)
            and not placeholders.is_reference(text)
        )
        return self._replacement("authorization") if opaque else masked

    def _replacement(self, kind: str) -> str:
        self.kinds[kind] = None
        return f"[secret:{kind}]"

    def _mask_object(self, value: Mapping[Any, Any], name: str) -> dict[Any, Any]:
        kind = names.classify(name) if name else ""
        named = _named_pair(value)
        masked = {}
        for key, inner in value.items():
            own = key if isinstance(key, str) else ""
            inner_name = names.name_of_inner(name, own)
            if named and own == named[1]:
                inner_name = named[0]
            if kind == "cookie" and isinstance(inner, str):
                result: Any = self._mask_cookie(own, inner)
            else:
                result = self.mask(inner, inner_name)
            masked[self.mask_text(key) if own else key] = result
        return masked

    def _mask_cookie(self, name: str, value: str) -> str:
        if is_cookie_secret(name, value) and not placeholders.is_placeholder(value):
            return self._replacement("cookie")
        return self.mask_text(value)

    def _mask_list(self, items: Sequence[Any], name: str) -> list[Any]:
        if _is_pair(items):
            return [items[0], self.mask(items[1], items[0])]
        if _is_command(items):
            return self._mask_arguments(items)
        inner_name = names.name_of_inner(name, "")
        return [self.mask(item, inner_name) for item in items]

    def _mask_arguments(self, items: Sequence[str]) -> list[str]:
        """Mask the arguments of a command as the line that they make."""
        line = " ".join(items)
        cuts, place, masked = secrets.find(line), 0, []
        for item in items:
            end = place + len(item)
            inside = [s for s in cuts if s.start < end and s.end > place]
            text, shift = item, place
            for span in reversed(inside):
                start, stop = (
                    max(span.start - shift, 0),
                    min(span.end - shift, len(item)),
                )
                text = f"{text[:start]}{self._replacement(span.kind)}{text[stop:]}"
            masked.append(self.mask_text(text))
            place = end + 1
        return masked


def _named_pair(value: Mapping[Any, Any]) -> tuple[str, str] | None:
    """Return the name and the field of the value in `{"name": "X", "value": "x"}`."""
    parts = [
        (names.part_of_pair(k), k, v) for k, v in value.items() if isinstance(k, str)
    ]
    given = (v for part, _, v in parts if part == "name" and isinstance(v, str))
    name = next((text for text in given if names.classify(text)), None)
    # A fact has a content beside its value.
    inner = [key for part, key, _ in parts if part == "value"]
    inner.sort(key=lambda key: not key.lower().endswith("value"))
    return (name, inner[0]) if name and inner else None


def _is_pair(items: Sequence[Any]) -> bool:
    """Return whether a list is a name and its value, as in a list of headers."""
    return (
        len(items) == 2
        and all(isinstance(item, str) for item in items)
        and not items[0].startswith("-")
        and bool(names.classify(items[0]))
    )


def _is_command(items: Sequence[Any]) -> bool:
    return (
        1 < len(items) <= MOST_ARGUMENTS
        and all(isinstance(item, str) for item in items)
        and any(item.startswith("-") and len(item) < 64 for item in items)
    )
