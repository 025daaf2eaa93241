"""Decide whether two rules demand opposite things.

Two clauses contradict each other if they have one subject and one case, and if they differ
in what they demand: an opposite, another side of a choice, another value, the approval of a
person. A clause whose subject differs on both sides is another rule.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Set
from functools import lru_cache

from common.text.contradiction import rule_clauses, rule_words
from common.text.contradiction.parsed_text import NEGATORS, ParsedText
from common.text.contradiction.rule_clauses import Clause
from common.text.contradiction.word_order import find_reversed_relation

# A clause with more further words than this is about something more specific.
MAX_FURTHER = 2
MAX_CLAUSES = 8

Check = Callable[[Clause, Clause], str | None]


def find_opposition(
    one: str, other: str, *, condition: str = "", other_condition: str = ""
) -> str | None:
    """Return how two rules contradict each other, or None."""
    left = rule_clauses.read(one, condition)[:MAX_CLAUSES]
    right = rule_clauses.read(other, other_condition)[:MAX_CLAUSES]
    for a in left:
        for b in right:
            if reason := _compare(a, b):
                return reason
    return None


@lru_cache(maxsize=4096)
def index_words(text: str, condition: str = "") -> frozenset[str]:
    """Return the words by which rules that may contradict this rule are found.

    They are the words of its subjects, and the choices that it makes.
    """
    clauses = rule_clauses.read(text, condition)[:MAX_CLAUSES]
    words = {word for clause in clauses for word in (*clause.strong, *clause.rejected)}
    choices = {
        f"{table} {number}"
        for table in ("choices", "opposites")
        for clause in clauses
        for word in clause.words
        for number, _ in rule_words.sides_of(table).get(word, ())
    }
    approvals = {"approval" for clause in clauses if clause.approval}
    return frozenset(words | choices | approvals)


def _compare(a: Clause, b: Clause) -> str | None:
    if not _have_same_case(a, b):
        return None
    for check in CHECKS:
        if reason := check(a, b):
            return reason
    return None


def _have_same_case(a: Clause, b: Clause) -> bool:
    """Whether both clauses apply to one case; a clause without one may apply to all."""
    if a.condition and b.condition:
        return a.condition <= b.condition or b.condition <= a.condition
    general = a if not a.condition else b
    return general.is_universal or (not a.condition and not b.condition)


def _approval(a: Clause, b: Clause) -> str | None:
    pairs = ((a, b), (b, a))
    for asks, free in pairs:
        is_free = free.approval < 0 or (
            not free.approval and bool({"automatic", "automatical"} & free.words)
        )
        if asks.approval > 0 and is_free and _is_one_action(asks, free):
            return "approval: ask first / without asking"
    return None


def _is_one_action(asks: Clause, free: Clause) -> bool:
    ours, theirs = asks.words - _ASKING, free.words - _ASKING
    if not ours or not theirs:
        # "Never ask for confirmation" speaks about every action.
        return True
    verbs = rule_words.stems_of("actions")
    mine, others = ours & verbs, theirs & verbs
    if mine and others and not mine & others:
        return False
    return _is_one_subject(ours, theirs, asks, free, needs_universal=False)


_ASKING = frozenset(
    {"ask", "confirm", "approv", "permis", "approval", "user", "first"}
    | {"automatic", "automatical"}
)


def _polarity(a: Clause, b: Clause) -> str | None:
    if a.is_negative == b.is_negative or a.approval or b.approval:
        return None
    negative, positive = (a, b) if a.is_negative else (b, a)
    if negative.forbidden and negative.forbidden not in positive.words:
        return None
    if _is_agreed(a, b):
        return None
    if _is_one_subject(a.words, b.words, a, b, needs_universal=True):
        word = next(word for word in negative.tokens if word in NEGATORS)
        return f'negation: only one side says "{word}"'
    return None


def _is_agreed(a: Clause, b: Clause) -> bool:
    """Whether a negation and an opposite cancel out: "do not disable", "enable"."""
    return any(True for _ in _find_choices(a.words, b.words, "opposites"))


def _choice(a: Clause, b: Clause) -> str | None:
    if a.is_negative or b.is_negative or a.is_list or b.is_list:
        return None
    for x, y in _find_choices(a.words, b.words, "choices"):
        rest = _others(a.words, b.words, "choices")
        if _is_one_subject(*rest, a, b, needs_universal=False, may_be_empty=True):
            return f"value: {x} / {y}"
    return None


def _opposite(a: Clause, b: Clause) -> str | None:
    if a.is_negative != b.is_negative or a.approval or b.approval:
        return None
    pairs = list(_find_choices(a.words, b.words, "opposites"))
    if len({x for x, _ in pairs}) > 1 and len({y for _, y in pairs}) > 1:
        # "Open it first" and "close it last" agree.
        return None
    for x, y in pairs:
        rest = _others(a.words, b.words, "opposites")
        have_case = bool(a.condition and b.condition)
        if _is_one_subject(*rest, a, b, needs_universal=True, may_be_empty=have_case):
            return f"antonym: {x} / {y}"
    return None


def _rejection(a: Clause, b: Clause) -> str | None:
    """Find what one clause chooses and the other one turns down."""
    for one, other in ((a, b), (b, a)):
        strong = other.rejected - rule_words.stems_of("weak")
        is_chosen = bool(strong) and strong <= one.words and not strong <= other.words
        if is_chosen and not one.is_negative:
            rest = one.words - strong, other.words - one.rejected
            if _is_one_subject(
                *rest, one, other, needs_universal=True, may_be_empty=True
            ):
                return f"value: {', '.join(sorted(strong))} is chosen / turned down"
    return None


def _amount(a: Clause, b: Clause) -> str | None:
    if a.is_negative != b.is_negative or not (a.amounts and b.amounts):
        return None
    only_a, only_b = a.amounts - b.amounts, b.amounts - a.amounts
    if {x.dimension for x in only_a} != {x.dimension for x in only_b}:
        return None
    if not only_a or len(only_a) != len(only_b) or _bounds(a) != _bounds(b):
        return None
    if _is_one_subject(a.words, b.words, a, b, needs_universal=False):
        sides = (", ".join(sorted(map(str, side))) for side in (only_a, only_b))
        return f"value: {' / '.join(sides)}"
    return None


def _bounds(clause: Clause) -> frozenset[str]:
    return frozenset({"atleast", "atmost", "exactly"} & set(clause.tokens))


def _slot(a: Clause, b: Clause) -> str | None:
    """Find two values of one thing: where it is kept, what it is, what is used for it."""
    if a.is_negative or b.is_negative or a.is_list or b.is_list:
        return None
    only_a, only_b = a.words - b.words, b.words - a.words
    if len(only_a) != 1 or len(only_b) != 1 or not a.strong & b.strong:
        return None
    (x,), (y,) = only_a, only_b
    if x.startswith(y) or y.startswith(x) or {x, y} & rule_words.stems_of("weak"):
        return None
    places = {rule_clauses.find_slot(a, x), rule_clauses.find_slot(b, y)}
    return f"value: {x} / {y}" if len(places) == 1 and "" not in places else None


def _range(a: Clause, b: Clause) -> str | None:
    """Compare "only x" with "everyone"."""
    for narrow, wide in ((a, b), (b, a)):
        if narrow.is_only and not wide.is_only and wide.is_universal:
            further = len(narrow.strong - wide.strong)
            is_one = wide.strong and wide.strong < narrow.strong
            if is_one and 0 < further <= MAX_FURTHER and not narrow.is_negative:
                return "quantifier: only / all"
    return None


def _order(a: Clause, b: Clause) -> str | None:
    if a.is_negative != b.is_negative:
        return None
    return (
        find_reversed_relation(
            ParsedText(" ".join(a.tokens)), ParsedText(" ".join(b.tokens))
        )
        if _shares_order(a, b)
        else None
    )


def _shares_order(a: Clause, b: Clause) -> bool:
    orders = {"before", "after", "then"}
    return bool(
        orders & set(a.tokens) and orders & set(b.tokens) and a.strong == b.strong
    )


CHECKS: tuple[Check, ...] = (
    _approval,
    _rejection,
    _choice,
    _opposite,
    _polarity,
    _amount,
    _slot,
    _range,
    _order,
)


def _sides(words: Set[str], table: str) -> frozenset[str]:
    return frozenset(words & rule_words.sides_of(table).keys())


def _find_choices(a: Set[str], b: Set[str], table: str) -> Iterator[tuple[str, str]]:
    """Yield the words of the two clauses that take two sides of one choice."""
    sides = rule_words.sides_of(table)
    for x in sorted(_sides(a - b, table)):
        for y in sorted(_sides(b - a, table)):
            taken = dict(sides[x])
            if any(
                choice in taken and taken[choice] != side for choice, side in sides[y]
            ):
                yield x, y


def _others(a: Set[str], b: Set[str], table: str) -> tuple[Set[str], Set[str]]:
    """Return the words of both clauses without those that differ by a choice."""
    pairs = list(_find_choices(a, b, table))
    return a - {x for x, _ in pairs}, b - {y for _, y in pairs}


def _is_one_subject(
    ours: Set[str],
    theirs: Set[str],
    a: Clause,
    b: Clause,
    *,
    needs_universal: bool,
    may_be_empty: bool = False,
) -> bool:
    """Whether the words of one clause contain the subject of the other.

    A clause that adds a case ("in tests") is an exception to the other one, unless the
    other one says "always" or "never".
    """
    weak = rule_words.stems_of("weak")
    left, right = ours - weak, theirs - weak
    if left - right and right - left:
        return False
    cases = a.case_words & ours, b.case_words & theirs
    if cases[0] - cases[1] and cases[1] - cases[0]:
        return False
    shared = left & right
    if not shared and (left or right) and not (may_be_empty and _is_short(a, b)):
        return False
    if not shared and not (ours & theirs) and not may_be_empty:
        return False
    further, general = (right - left, a) if right - left else (left - right, b)
    further = further - rule_words.stems_of("actions")
    if len(further) > min(MAX_FURTHER, max(len(shared), 1)):
        return False
    is_case = bool(further & rule_words.stems_of("cases")) or (
        needs_universal and bool(further)
    )
    return not is_case or general.is_universal


def _is_short(a: Clause, b: Clause) -> bool:
    """Whether one clause names nothing but its choice: "Use pnpm"."""
    return min(len(a.strong), len(b.strong)) <= 1
