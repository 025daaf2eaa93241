"""Texts on which a regular expression may need more than linear time."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from re import _compiler, _parser  # type: ignore[attr-defined]
from re import _constants as sre  # type: ignore[attr-defined]
from typing import Any

# Pieces of texts in which people and machines repeat themselves.
UNITS = (
    *"\n\t aA0_.-/\\'\"`([{<=:;,@#*|>}])!?%$~+\u00e9",
    *("\r\n", "a ", "a.", "a\n", "\n ", " \n", "a0", "a-", "a_", "./", "../", "://"),
    *(
        "a=",
        "a: ",
        "\n- ",
        "\n# ",
        "''",
        '""',
        "``",
        "{}",
        "[]",
        "()",
        "<a",
        "<a>",
        "\\n",
    ),
    *(
        "a\u0301",
        "\u0301",
        "\u200b",
        "\u00ad",
        "\uff41",
        "\u4e00",
        "ab12 ",
        "Aa",
        "1.",
        "1,",
    ),
)
ENDS = ("", "\x00")
REPEATS = (sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT)
# A repeat with a lower limit costs at most this number of steps at each place.
LEAST_LIMIT = 400
MOST_PUMPS = 20
HEAD = 100


@dataclass(frozen=True)
class Adversary:
    """`head` and `unit` times n and `tail`."""

    head: str
    unit: str
    tail: str = ""

    def text(self, length: int) -> str:
        return self.head + self.unit * max(1, length // len(self.unit)) + self.tail

    def __str__(self) -> str:
        return f"{self.head!r} + {self.unit!r} * n + {self.tail!r}"


@dataclass(frozen=True)
class _Pump:
    """A repeat of a pattern: what stands before it, and what it repeats."""

    head: str
    units: tuple[str, ...]
    takes: re.Pattern[str]


def of_pattern(pattern: re.Pattern[str]) -> list[Adversary]:
    """Return texts for a pattern that repeats something without a limit; else nothing.

    The parts that the pattern itself repeats come first, behind what it needs before
    them. Then come the common pieces that one of its repeats takes.
    """
    tree = _parser.parse(pattern.pattern, pattern.flags)
    pumps = list(_pumps(tree, tree.state, ""))[:MOST_PUMPS]
    texts: dict[Adversary, None] = {}
    for pump in pumps:
        for unit in filter(None, pump.units):
            texts |= {Adversary(pump.head, unit, end): None for end in ENDS}
            if pump.head:
                texts[Adversary("", pump.head + unit, "\x00")] = None
    for unit in UNITS:
        if any(pump.takes.fullmatch(unit * 2) for pump in pumps):
            texts[Adversary("", unit, "\x00")] = None
    return list(texts)


def _pumps(tree: Any, state: Any, head: str) -> Iterator[_Pump]:
    for op, value in tree:
        if op in REPEATS:
            _least, most, body = value
            is_long = most is sre.MAXREPEAT or most >= LEAST_LIMIT
            if is_long and (takes := _compile(tree, state, (op, value))):
                yield _Pump(head[-HEAD:], tuple(_units(body)), takes)
        for part in _parts(op, value):
            yield from _pumps(part, state, head)
        head += _sample(op, value)


def _compile(tree: Any, state: Any, node: Any) -> re.Pattern[str] | None:
    """Compile one node of a tree; None if the node refers to a group outside."""
    part = _parser.SubPattern(state, [node])
    try:
        made: re.Pattern[str] = _compiler.compile(part, state.flags)
    except (re.error, IndexError, ValueError):
        return None
    return made


def _parts(op: Any, value: Any) -> list[Any]:
    """Return the patterns inside a node."""
    if op in REPEATS:
        return [value[2]]
    if op is sre.SUBPATTERN:
        return [value[3]]
    if op is sre.ATOMIC_GROUP:
        return [value]
    if op is sre.BRANCH:
        return list(value[1])
    if op in (sre.ASSERT, sre.ASSERT_NOT):
        return [value[1]]
    if op is sre.GROUPREF_EXISTS:
        return [part for part in value[1:] if part]
    return []


def _units(body: Any) -> Iterator[str]:
    yield "".join(_sample(op, value) for op, value in body)
    if len(body) != 1:
        return
    op, value = body[0]
    if op is sre.IN:
        for item in value[:6]:
            if item[0] is not sre.NEGATE:
                yield _of_class([item])
    for part in _parts(op, value)[:6]:
        yield "".join(_sample(*node) for node in part)


def _sample(op: Any, value: Any) -> str:
    """Return a short text that the node matches."""
    if op is sre.LITERAL:
        return chr(value)
    if op is sre.NOT_LITERAL:
        return "a" if value != ord("a") else "b"
    if op is sre.ANY:
        return "a"
    if op is sre.IN:
        return _of_class(value)
    if op in (sre.ASSERT, sre.ASSERT_NOT):
        return ""
    parts = _parts(op, value)[:1]
    text = "".join(_sample(*node) for part in parts for node in part)
    return text * min(max(value[0], 1), 40) if op in REPEATS else text


CATEGORIES = {
    sre.CATEGORY_DIGIT: "0",
    sre.CATEGORY_SPACE: " ",
    sre.CATEGORY_WORD: "a",
    sre.CATEGORY_NOT_DIGIT: "a",
    sre.CATEGORY_NOT_SPACE: "a",
    sre.CATEGORY_NOT_WORD: "-",
}


def _of_class(items: Any) -> str:
    op, value = items[0]
    if op is sre.NEGATE:
        taken = (
            one for one in "a0 -\n" if not any(_holds(*item, one) for item in items[1:])
        )
        return next(taken, "\u4e00")
    if op is sre.CATEGORY:
        return CATEGORIES[value]
    return chr(value[0] if op is sre.RANGE else value)


def _holds(op: Any, value: Any, character: str) -> bool:
    if op is sre.RANGE:
        return bool(value[0] <= ord(character) <= value[1])
    if op is sre.LITERAL:
        return chr(value) == character
    return CATEGORIES[value] == character or (
        value in (sre.CATEGORY_NOT_DIGIT, sre.CATEGORY_NOT_SPACE) and character == "-"
    )
