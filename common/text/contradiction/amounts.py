"""Read numbers in prose: "30 min", "thirty minutes" and "1800 s" are the same amount."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, order=True)
class Amount:
    """A number with its dimension.

    `dimension` is s, months, B, bit, %, th (for "first" and "second"), or empty. Times are
    in seconds or months. Sizes are in bytes or bits. `is_weak` marks words that often do
    not state a number: "one" and "single", "both", and the hour of "an hour" or "per hour".
    """

    value: float
    dimension: str
    is_weak: bool

    def __str__(self) -> str:
        return f"{self.value:g} {self.dimension}".rstrip()


_NUMBER_WORDS = {
    word: float(value)
    for value, word in enumerate(
        [
            "zero",
            "one",
            "two",
            "three",
            "four",
            "five",
            "six",
            "seven",
            "eight",
            "nine",
            "ten",
            "eleven",
            "twelve",
            "thirteen",
            "fourteen",
            "fifteen",
            "sixteen",
            "seventeen",
            "eighteen",
            "nineteen",
            "twenty",
        ]
    )
} | {
    **{"thirty": 30.0, "forty": 40.0, "fifty": 50.0, "sixty": 60.0, "seventy": 70.0},
    **{"eighty": 80.0, "ninety": 90.0, "dozen": 12.0, "half": 0.5, "quarter": 0.25},
    **{"single": 1.0, "once": 1.0, "twice": 2.0, "thrice": 3.0, "both": 2.0},
}
_ORDINALS = {
    word: value
    for value, word in enumerate(
        [
            "first",
            "second",
            "third",
            "fourth",
            "fifth",
            "sixth",
            "seventh",
            "eighth",
            "ninth",
            "tenth",
        ],
        1,
    )
}
_SCALES = {
    "hundred": 100.0,
    "thousand": 1000.0,
    "k": 1000.0,
    "million": 1e6,
    "billion": 1e9,
}
# Times are in seconds and sizes in bytes. A K is 1,024 bytes, as in most logs and limits.
_UNITS = {
    unit: (dimension, factor)
    for dimension, factor, units in (
        ("s", 1e-6, "us µs microsecond microseconds"),
        ("s", 1e-3, "ms millisecond milliseconds msec"),
        ("s", 1.0, "s sec secs second seconds"),
        ("s", 60.0, "m min mins minute minutes minutely"),
        ("s", 3600.0, "h hr hrs hour hours hourly"),
        ("s", 86400.0, "d day days daily"),
        ("s", 604800.0, "w week weeks weekly"),
        ("months", 1.0, "month months monthly"),
        ("months", 12.0, "year years yearly annually"),
        ("B", 1.0, "b byte bytes"),
        ("B", 2.0**10, "kb kib kilobyte kilobytes"),
        ("B", 2.0**20, "mb mib megabyte megabytes"),
        ("B", 2.0**30, "gb gib gigabyte gigabytes"),
        ("B", 2.0**40, "tb tib terabyte terabytes"),
        ("bit", 1.0, "bits"),
        ("bit", 1e3, "kbit kilobit kilobits kbps"),
        ("bit", 1e6, "mbit megabit megabits mbps"),
        ("bit", 1e9, "gbit gigabit gigabits gbps"),
        ("%", 1.0, "% percent pct"),
    )
    for unit in units.split()
}
_PERIODS = {"minutely", "hourly", "daily", "weekly", "monthly", "yearly", "annually"}
_ONE = frozenset({"a", "an", "per", "each", "every"})
_WEAK = frozenset({"one", "single", "once", "both"})
_TENS = frozenset(
    {"twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"}
)

_NUMBER = re.compile(r"-?\d+(?:,\d{3})*(?:\.\d+)?")


def read(words: Sequence[str]) -> Iterator[Amount]:
    """Read the amounts in lower-case words.

    A number and its unit are two separate words.
    """
    at = 0
    while at < len(words):
        word, after = words[at], words[at + 1] if at + 1 < len(words) else ""
        value = _value(word)
        at += 1
        if value is None and word in _ONE and len(after) > 1 and after in _UNITS:
            yield Amount(_UNITS[after][1], _UNITS[after][0], is_weak=True)
            at += 1
            continue
        if value is None:
            yield from _is_countless(word)
            continue
        is_weak = word in _WEAK
        if word in _TENS and 0 < (_value(after) or 0) < 10:
            value, at = value + (_value(after) or 0), at + 1
        while at < len(words) and words[at] in _SCALES:
            value, is_weak, at = value * _SCALES[words[at]], False, at + 1
        dimension, factor = _UNITS.get(words[at] if at < len(words) else "", ("", 1.0))
        at += bool(dimension)
        yield Amount(value * factor, dimension, is_weak and not dimension)


def is_number(word: str) -> bool:
    return word not in _WEAK and _value(word) is not None


def is_unit(word: str) -> bool:
    return word in _UNITS


def bare_units(words: Sequence[str]) -> dict[tuple[str, float], str]:
    """Find units without a number, as in "the timeout is in milliseconds"."""
    return {
        _UNITS[word]: word
        for before, word in zip(["", *words], words, strict=False)
        if len(word) > 1
        and word in _UNITS
        and word not in {*_PERIODS, *_ORDINALS, *_ONE}
        and not (_value(before) is not None or before in _ONE)
    }


def _value(word: str) -> float | None:
    if _NUMBER.fullmatch(word):
        return float(word.replace(",", ""))
    return _NUMBER_WORDS.get(word, _SCALES.get(word))


def _is_countless(word: str) -> Iterator[Amount]:
    if word in _PERIODS:
        dimension, factor = _UNITS[word]
        yield Amount(factor, dimension, is_weak=False)
    elif word in _ORDINALS:
        yield Amount(_ORDINALS[word], "th", is_weak=False)
