"""Decide whether two similar texts disagree.

Texts that say opposite things can have similar vectors: "enable" and "disable", 3 and 5,
`a.py` and `b.py`. Each check finds one kind of difference that a merge would lose. If a
check is in doubt, it keeps the texts apart: a person can dismiss a possible duplicate, but
a wrong merge loses a fact.
"""

from __future__ import annotations

import re
from collections.abc import Set

from common.text.contradiction import amounts
from common.text.contradiction.opposites import opposites_of
from common.text.contradiction.parsed_text import (
    EDGES,
    LIGHT,
    STOPS,
    ParsedText,
    word_set,
)
from common.text.contradiction.stems import stem
from common.text.contradiction.word_order import (
    find_reversed_relation,
    find_swapped_arguments,
    is_contrast_reworded,
)

_RESTRICTION_NAMES = {"atleast": "at least", "atmost": "at most", "notall": "not all"}
_RESTRICTIONS = (
    "only",
    "except",
    "atleast",
    "atmost",
    "notall",
    "exactly",
    "almost",
    "nearly",
)
_CONDITIONS = word_set("when whenever if unless once until while")
_EVERY = word_set("all every each both")
_ONE = word_set("one single")
_SOME = _ONE | word_set("any a an")
_QUOTED = re.compile(
    r"`([^`\n]{1,200})`|\"([^\"\n]{1,200})\"|\u201c([^\u201d\n]{1,200})\u201d"
)
_NAME = re.compile(r"(?<=[\w,] )[A-Z][A-Za-z]{1,30}\b|\b[A-Z]{2,30}\b")


def reason_to_keep_apart(a: str, b: str) -> str | None:
    """Return why two similar texts must not be merged, or None if they may be merged.

    The reason has the form `code: words`. The code is identifier, quoted, number, unit,
    negation, antonym, quantifier, name or order.
    """
    left, right = ParsedText(a), ParsedText(b)
    if left.folded == right.folded:
        return None
    for check in CHECKS:
        if reason := check(left, right):
            return reason
    return None


def _identifiers(a: ParsedText, b: ParsedText) -> str | None:
    return _describe_difference(
        "identifier", _unshared_names(a, b), _unshared_names(b, a)
    )


def _unshared_names(a: ParsedText, b: ParsedText) -> list[str]:
    return [
        term
        for key, term in a.identifiers.items()
        if key not in b.identifiers
        and not (term.isalpha() and stem(term.casefold()) in b.stems)
    ]


def _quotes(a: ParsedText, b: ParsedText) -> str | None:
    return _describe_difference(
        "quoted", _unshared_quotes(a, b), _unshared_quotes(b, a)
    )


def _unshared_quotes(a: ParsedText, b: ParsedText) -> list[str]:
    quotes = (next(filter(None, match.groups())) for match in _QUOTED.finditer(a.text))
    return [
        quote
        for quote in quotes
        if " ".join(quote.casefold().split()).strip(EDGES) not in b.folded
    ]


def _numbers(a: ParsedText, b: ParsedText) -> str | None:
    amounts_a, amounts_b = _amounts(a, weak=True), _amounts(b, weak=True)
    if _amounts(a, weak=False) == _amounts(b, weak=False):
        # "per minute" and "per second" are different amounts; "one man" and "a man" are
        # equal.
        amounts_a, amounts_b = amounts_a - {"1"}, amounts_b - {"1"}
        if not (amounts_a - amounts_b and amounts_b - amounts_a):
            return None
    return _describe_difference(
        "number", sorted(amounts_a - amounts_b), sorted(amounts_b - amounts_a)
    )


def _units(a: ParsedText, b: ParsedText) -> str | None:
    """Compare units that have no number, as in "given in ms" and "given in s"."""
    only_a = [unit for key, unit in a.bare_units.items() if key not in b.bare_units]
    only_b = [unit for key, unit in b.bare_units.items() if key not in a.bare_units]
    return _describe_difference("unit", only_a, only_b) if only_a and only_b else None


def _amounts(text: ParsedText, *, weak: bool) -> set[str]:
    return {str(amount) for amount in text.amounts if weak or not amount.is_weak}


def _polarity(a: ParsedText, b: ParsedText) -> str | None:
    """Compare negations and opposites together, because "not enabled" means "disabled"."""
    extra = len(a.negators) - len(b.negators)
    pairs = _opposites(a, b)
    if len(pairs) == 1 and abs(extra) == 1:
        word = pairs[0][0] if extra > 0 else pairs[0][1]
        if _is_negated(a if extra > 0 else b, word):
            return None
    if pairs:
        one, other, code = pairs[0]
        return f"{code}: {one} / {other}"
    if abs(extra) == 1 and is_contrast_reworded(a, b):
        return None
    if extra:
        more = a if extra > 0 else b
        return f'negation: only one side says "{more.words[more.negators[-1]]}"'
    if len(a.negators) == 1 and _negation_moved(a, b):
        return "negation: it stands at another word"
    return None


def _opposites(a: ParsedText, b: ParsedText) -> list[tuple[str, str, str]]:
    only_b = b.stems.keys() - a.stems.keys()
    return [
        (word, b.stems[other], code)
        for one, word in a.stems.items()
        if one not in b.stems
        for other, code in sorted(opposites_of(one, only_b))
    ]


def _is_negated(text: ParsedText, word: str) -> bool:
    places = [at for at, other in enumerate(text.words) if other == word]
    return any(0 < place - at <= 3 for place in places for at in text.negators)


def _negation_moved(a: ParsedText, b: ParsedText) -> bool:
    scope_a, scope_b = _stems_after_negation(a), _stems_after_negation(b)
    return (
        bool(scope_a and scope_b)
        and scope_a[0] in b.stems
        and scope_b[0] in a.stems
        and scope_a[0] not in scope_b
        and scope_b[0] not in scope_a
    )


def _stems_after_negation(text: ParsedText) -> list[str]:
    """Return the stems of the first three content words after the negation."""
    following = text.words[text.negators[0] + 1 :]
    return [stem(word) for word in following if word not in LIGHT][:3]


def _restrictions(a: ParsedText, b: ParsedText) -> str | None:
    for word in _RESTRICTIONS:
        if (word in a.words) != (word in b.words):
            return (
                f'quantifier: only one side says "{_RESTRICTION_NAMES.get(word, word)}"'
            )
    for one, other in ((a, b), (b, a)):
        for noun in _quantified_nouns(one, _SOME) & _quantified_nouns(other, _EVERY):
            return f"quantifier: one / every, of {noun}"
    return None


def _quantified_nouns(text: ParsedText, quantifiers: Set[str]) -> set[str]:
    """Return the stems that follow a quantifier.

    "Any" and "a" count as quantifiers in a condition only.
    """
    nouns, is_condition = set(), False
    for at, token in enumerate(text.tokens):
        is_condition = token in _CONDITIONS or (is_condition and token not in STOPS)
        if token in quantifiers and (is_condition or token not in _SOME - _ONE):
            following = text.tokens[at + 1 : at + 4]
            nouns.update([stem(word) for word in following if word not in LIGHT][:1])
    return nouns


def _names(a: ParsedText, b: ParsedText) -> str | None:
    only_a = _name_stems(a) - _name_stems(b) - b.stems.keys()
    only_b = _name_stems(b) - _name_stems(a) - a.stems.keys()
    if only_a and only_b:
        return _describe_difference("name", sorted(only_a), sorted(only_b))
    return None


def _name_stems(text: ParsedText) -> set[str]:
    found = (name.casefold() for name in _NAME.findall(text.text))
    names = {stem(name) for name in found if not amounts.is_unit(name)}
    # In a headline in Title Case, a capital letter does not mark a name.
    return names if len(names) * 2 < len(text.words) else set()


def _describe_difference(code: str, only_a: list[str], only_b: list[str]) -> str | None:
    if not only_a and not only_b:
        return None
    sides = (", ".join(side[:3]) or "nothing" for side in (only_a, only_b))
    return f"{code}: {' / '.join(sides)}"


CHECKS = (
    _identifiers,
    _quotes,
    _numbers,
    _units,
    _polarity,
    _restrictions,
    _names,
    find_reversed_relation,
    find_swapped_arguments,
)
