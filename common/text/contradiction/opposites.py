"""Find opposites: pairs of words that exclude each other.

Some pairs come from the tables of `exclusive_words`. Other pairs come from prefixes and
endings that negate a word, as in "known" and "unknown".
"""

from __future__ import annotations

from collections.abc import Set
from functools import cache

from common.text.contradiction.exclusive_words import ANTONYMS, QUANTIFIERS
from common.text.contradiction.stems import stem

_PREFIXES = ("un", "in", "im", "il", "ir", "dis", "non", "de", "mis")
# Two words can differ in their prefix or their ending only: "overestimate" and
# "underestimate", "caller" and "callee".
_PAIRED_PREFIXES = (
    ("over", "under"),
    ("up", "down"),
    ("in", "out"),
    ("in", "ex"),
    ("im", "ex"),
    ("in", "de"),
    ("max", "min"),
    ("multi", "single"),
    ("pre", "post"),
    ("inter", "intra"),
    ("macro", "micro"),
    ("fore", "back"),
)
_PAIRED_ENDINGS = (("er", "ee"), ("or", "ee"))
# letters that must follow the prefix: the "up" of "upon" is not a prefix
_SHORTEST_REST = 3
_NOT_PREFIXED = frozenset({"import", "instal", "input", "inform", "insid", "into"})


def opposites_of(word: str, others: Set[str]) -> set[tuple[str, str]]:
    """Return the stems among `others` that exclude the given stem.

    Each stem is returned together with the kind of the opposition.
    """
    table = _table().get(word, {})
    negations = _negated_forms(word) | _paired_forms(word)
    negated = {(other, "antonym") for other in negations & others}
    return negated | {(other, table[other]) for other in table.keys() & others}


@cache
def _table() -> dict[str, dict[str, str]]:
    table: dict[str, dict[str, str]] = {}
    for code, lines in (("antonym", ANTONYMS), ("quantifier", QUANTIFIERS)):
        for line in lines.strip().splitlines():
            sides = [{stem(word) for word in side.split()} for side in line.split("/")]
            for side in sides:
                others = set().union(*(other for other in sides if other is not side))
                for word in side:
                    table.setdefault(word, {}).update(
                        dict.fromkeys(others - side, code)
                    )
    return table


def _negated_forms(word: str) -> set[str]:
    """Return the stem with each negating prefix and suffix added or removed."""
    forms = {word.removesuffix("ful") + "less"}
    if len(word) >= 4:
        forms |= {prefix + word for prefix in _PREFIXES}
    if word.endswith("less"):
        forms |= {word.removesuffix("less"), word.removesuffix("less") + "ful"}
    forms |= {
        word.removeprefix(prefix)
        for prefix in _PREFIXES
        if word.startswith(prefix) and len(word) >= len(prefix) + 4
    }
    return set() if word in _NOT_PREFIXED else forms - _NOT_PREFIXED - {word}


def _paired_forms(word: str) -> set[str]:
    """Return the stem with each prefix or ending replaced by its opposite."""
    forms = set()
    for pair in _PAIRED_PREFIXES:
        for one, other in (pair, pair[::-1]):
            if word.startswith(one) and len(word) >= len(one) + _SHORTEST_REST:
                forms.add(other + word.removeprefix(one))
    for pair in _PAIRED_ENDINGS:
        for one, other in (pair, pair[::-1]):
            if word.endswith(one) and len(word) >= len(one) + _SHORTEST_REST:
                forms.add(word.removesuffix(one) + other)
    return forms - {word}
