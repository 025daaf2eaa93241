"""Find values whose name stands on another line or level of their text.

    - name: DB_PASSWORD        {"password": {"value": "x"}}      passwords:
      value: x                 {"api": {"key": "x"}}               - x

A text is read as fields, in braces as in JSON and HCL, and by lines as in YAML and INI.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from common.text.secret_rules import names, values
from common.text.secret_rules.assignments import HINTS
from common.text.secret_rules.spans import Span

MAX_DEPTH = 32
_STRING = (
    r"(?:\\{0,3}\"(?P<double>[^\"\\\n]{0,1024})\\{0,3}\"|'(?P<single>[^'\n]{0,1024})')"
)
_TOKEN = re.compile(
    rf"{_STRING}|(?P<mark>[{{}}\[\],:=])"
    r"|(?P<word>[^\s\"'{}\[\],:=\\]{1,1024}(?:={1,2}(?=[\s,}\]]|\Z))?)"
)
_FIELD = (
    r"(?P<dash>-[ \t]{1,8})?"
    r"(?:(?P<quote>[\"']?)(?P<name>[A-Za-z_][\w.\-]{0,63})(?P=quote)[ \t]{0,16}(?:=|:(?=\s|\Z))[ \t]{0,16})?"
    rf"(?:{_STRING}|(?P<word>[^\s\"'{{}}\[\]#&*!|>,-][^\s\"'{{}}\[\]]{{0,1023}}))?"
)
_SECTION = r"\[{1,2}(?:[\w-]{1,64}\.){0,8}(?P<section>[\w-]{1,64})\]{1,2}"
_LINE = re.compile(
    rf"^(?P<indent>[ \t]{{0,80}})(?:{_SECTION}|{_FIELD})[ \t]{{0,16}}(?:#[^\n]*)?$",
    re.MULTILINE,
)


@dataclass
class Level:
    """An object, a list or a section.

    `column` is that of the line that opens the level. `pair` has what was read of the two
    fields of `{"name": "X", "value": "x"}`.
    """

    name: str = ""
    column: float = -1
    is_list: bool = False
    pair_name: str = ""
    pair_value: re.Match[str] | None = None

    def find_secret(self, own: str, value: re.Match[str]) -> Span | None:
        """Return the value of a field, or of an item without a name, if it is a secret."""
        if own and (part := names.part_of_pair(own)):
            if part == "name":
                is_secret = bool(names.classify(_text_of(value)))
                self.pair_name = _text_of(value) if is_secret else self.pair_name
            else:
                self.pair_value = value
            if self.pair_name and self.pair_value:
                name, value = self.pair_name, self.pair_value
                self.pair_name, self.pair_value = "", None
                return _judge(name, value)
        name = names.name_of_inner(self.name, own)
        return _judge(name, value) if name and name != own else None


def find_values(text: str, lowered: str) -> Iterator[Span]:
    """Find the secrets that other levels or lines name."""
    if not any(hint in lowered for hint in HINTS):
        return
    if "{" in text or "[" in text:
        yield from _find_in_braces(text)
    if "\n" in text:
        yield from _find_in_lines(text)


def _find_in_braces(text: str) -> Iterator[Span]:
    levels, name, last = [Level()], "", ""
    for token in _TOKEN.finditer(text):
        mark = token["mark"]
        if mark is None:
            is_value = len(levels) > 1 and bool(name or levels[-1].is_list)
            if is_value and (span := levels[-1].find_secret(name, token)):
                yield span
            name, last = "", _text_of(token)
        elif mark in "{[":
            inherited = levels[-1].name if levels[-1].is_list else ""
            if len(levels) < MAX_DEPTH:
                levels.append(Level(name or last or inherited, is_list=mark == "["))
            name = last = ""
        elif mark in "}]":
            if len(levels) > 1:
                levels.pop()
            name = last = ""
        elif mark == ",":
            name = last = ""
        else:
            name = last or name


def _find_in_lines(text: str) -> Iterator[Span]:
    levels = [Level()]
    for line in _LINE.finditer(text):
        indent, name = len(line["indent"]), line["name"] or ""
        if line["section"]:
            levels = [Level(line["section"])]
            continue
        if not name and not line["dash"]:
            continue
        while levels[-1].column >= indent + (0.5 if line["dash"] else 0):
            levels.pop()
        column = indent
        if line["dash"]:
            levels.append(Level(levels[-1].name, indent + 0.5))
            column += len(line["dash"])
        if line["word"] or line["double"] or line["single"]:
            if span := levels[-1].find_secret(name, line):
                yield span
        elif name and len(levels) < MAX_DEPTH:
            levels.append(Level(name, column))


def _group_of(value: re.Match[str]) -> str:
    return next((g for g in ("double", "single") if value[g] is not None), "word")


def _text_of(value: re.Match[str]) -> str:
    return value[_group_of(value)] or ""


def _judge(name: str, value: re.Match[str]) -> Span | None:
    kind, group = names.classify(name), _group_of(value)
    if not kind or kind in ("cookie", "authorization", "connection-string"):
        return None
    style = "bare" if group == "word" else "quoted"
    if not values.is_secret(value[group], kind, style):
        return None
    return Span(*value.span(group), names.shown_kind(kind))
