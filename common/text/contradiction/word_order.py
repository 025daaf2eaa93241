"""Compare the word order of two texts.

The same words in another order can say the opposite.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from common.text.contradiction.parsed_text import (
    ARTICLES,
    BE,
    LIGHT,
    LINKS,
    NEGATORS,
    PREPOSITIONS,
    SILENT,
    STOPS,
    ParsedText,
    word_set,
)
from common.text.contradiction.stems import stem

_IRREGULAR_PARTICIPLES = word_set(
    "built sent read set run put kept held cut made done found sold told lost paid"
    " bound caught taught drawn hung hit let led left shut split"
)
_ADVERBS = word_set("also already always hard often only now still then well")
_MARKER_NAMES = {"instead": "instead of"}
_EARLIER_FIRST = ("before", "then")
_CONJUNCTIONS = word_set("and or , &") | ARTICLES
# Two words that are further apart than this are unlikely to be arguments of one verb.
_REACH = 12
# The longest gap between two words of a list is ", and the" with one more word.
_LONGEST_JOINT = 6
_NO_ARGUMENTS = SILENT | NEGATORS


def find_reversed_relation(a: ParsedText, b: ParsedText) -> str | None:
    """Find a relation that one text reverses.

    Examples are "a before b" and "b before a", or "a instead of b" and "b instead of a".
    """
    for markers in (("before", "after", "then"), ("instead",)):
        one, other = _ends(a.tokens, markers), _ends(b.tokens, markers)
        if one and other and one[0] & other[1] and one[1] & other[0]:
            return (
                f'order: turned round at "{_MARKER_NAMES.get(markers[0], markers[0])}"'
            )
        # The word "then" adds nothing to the order of two sentences.
        decisive = [word for word in markers if word != "then"]
        in_a = {word for word in decisive if word in a.words}
        is_lost = in_a ^ {word for word in decisive if word in b.words}
        if not is_lost or (one and other):
            continue
        if not (is_contrast_reworded(a, b) or _is_sequence_reworded(a, b, markers)):
            return f"antonym: {' / '.join(decisive)}"
    return None


def _is_sequence_reworded(
    a: ParsedText, b: ParsedText, markers: tuple[str, ...]
) -> bool:
    """Whether the texts say one sequence in two ways.

    An example is "write it and exit" and "exit after writing it".
    """
    one = _ends(a.tokens, markers) or _ends(a.tokens, ("and",))
    other = _ends(b.tokens, markers) or _ends(b.tokens, ("and",))
    if "after" not in markers or not (one and other):
        return False
    straight = one[0] & other[0] and one[1] & other[1]
    return bool(straight) and not (one[0] & other[1] or one[1] & other[0])


def is_contrast_reworded(a: ParsedText, b: ParsedText) -> bool:
    """Whether the texts say one contrast in two ways.

    An example is "use x, not y" and "use x instead of y".
    """
    for one, other in ((a, b), (b, a)):
        if "instead" in one.words and "instead" not in other.words:
            return len(other.negators) - len(one.negators) == 1 and any(
                _is_contrast(one.tokens, other, at) for at in other.negators
            )
    return False


def _is_contrast(tokens: list[str], other: ParsedText, negator: int) -> bool:
    """Whether one text negates the words that the other text has after "instead of"."""
    at = tokens.index("instead")
    chosen = _content_stems(tokens[:at])[-1:]
    refused = _content_stems(tokens[at + 1 :])[:1]
    if not (chosen and refused):
        return False
    denied = _stems_after_negation(other, negator)
    return refused[0] in denied and chosen[0] not in denied and chosen[0] in other.stems


def _stems_after_negation(reading: ParsedText, negator: int) -> list[str]:
    """Return the first three content stems that follow a negation in its clause."""
    positions = [at for at, token in enumerate(reading.tokens) if token not in STOPS]
    clause = itertools.takewhile(
        lambda token: token not in STOPS, reading.tokens[positions[negator] + 1 :]
    )
    return _content_stems(clause)[:3]


def _content_stems(tokens: Iterable[str]) -> list[str]:
    return [stem(token) for token in tokens if token not in LIGHT]


def _is_order_reworded(a: ParsedText, b: ParsedText) -> bool:
    """Whether "x before y" became "y after x".

    Such a change swaps all words but keeps the meaning.
    """
    return _has_any(a, _EARLIER_FIRST) != _has_any(b, _EARLIER_FIRST) and (
        _has_any(a, ("after",)) != _has_any(b, ("after",))
    )


def _has_any(reading: ParsedText, markers: tuple[str, ...]) -> bool:
    return any(word in reading.words for word in markers)


def _ends(
    tokens: list[str], markers: tuple[str, ...]
) -> tuple[set[str], set[str]] | None:
    """Return the words before the marker and the words after it.

    Return None if the text does not have exactly one marker.
    """
    positions = [at for at, token in enumerate(tokens) if token in markers]
    if len(positions) != 1:
        return None
    (at,) = positions
    edge = at
    while tokens[at] == "then" and edge and tokens[edge - 1] in STOPS:
        edge -= 1  # "Lint. Then test.": "then" refers to the sentence before
    start = max((i + 1 for i in range(edge) if tokens[i] in ".;!?"), default=0)
    stop = next((i for i in range(at, len(tokens)) if tokens[i] in ".;!?"), len(tokens))
    left, right = tokens[start:at], tokens[at + 1 : stop]
    if not left:
        if "," not in right:
            return None
        comma = right.index(",")
        left, right = right[comma:], right[:comma]
    one, other = _content(left), _content(right)
    if tokens[at] == "after":
        one, other = other, one
    return one - other, other - one


def _content(tokens: list[str]) -> set[str]:
    return set(_content_stems(tokens))


@dataclass(frozen=True)
class _ActiveText:
    """A text in the active voice.

    `positions` has the positions of the words that occur once.
    """

    tokens: list[str]
    positions: dict[str, int]


def find_swapped_arguments(a: ParsedText, b: ParsedText) -> str | None:
    """Find two words that changed their places around a third word.

    One text has `x … p … y`, the other has `y … p … x`. Both texts are compared in the
    active voice.
    """
    one, other = _to_active_text(a), _to_active_text(b)
    if _passives(one.tokens) != _passives(other.tokens) or _is_order_reworded(a, b):
        return None
    positions_b = other.positions
    shared = [word for word in one.positions if word in positions_b]
    for at, pivot in enumerate(shared):
        before = shared[max(at - _REACH, 0) : at]
        later = [word for word in before if positions_b[word] > positions_b[pivot]]
        after = shared[at + 1 : at + 1 + _REACH] if later else []
        for second in after:
            for first in later if positions_b[second] < positions_b[pivot] else []:
                if {first, second}.isdisjoint(PREPOSITIONS) and not (
                    _keep_prepositions(first, second, one, other)
                    or _are_joined(first, pivot, one, other)
                    or _are_joined(pivot, second, one, other)
                ):
                    return f'order: {first} / {second} around "{pivot}"'
    return None


def _in_active_voice(tokens: list[str]) -> list[str]:
    """Change `x is done by y` to `y done x`."""
    if tokens.count("by") != 1:
        return tokens
    by = tokens.index("by")
    be = next((i for i in range(by - 1, 0, -1) if tokens[i] in BE), 0)
    if not be or any(token in STOPS for token in tokens[be:by]):
        return tokens
    agent = tokens[by + 1] if by + 1 < len(tokens) else ""
    if agent.endswith("ing") or agent == "default" or not agent.isalpha():
        return tokens
    breaks = STOPS | LINKS
    start = max((i + 1 for i in range(be) if tokens[i] in breaks), default=0)
    stop = next((i for i in range(by, len(tokens)) if tokens[i] in breaks), len(tokens))
    return [
        *tokens[:start],
        *tokens[by + 1 : stop],
        *(token for token in tokens[be:by] if token not in BE),
        *tokens[start:be],
        *tokens[stop:],
    ]


def _passives(tokens: list[str]) -> int:
    return sum(
        _is_participle(tokens[at + 1])
        or (
            _may_stand_between(tokens[at + 1])
            and _is_participle("".join(tokens[at + 2 : at + 3]))
        )
        for at, token in enumerate(tokens[:-1])
        if token in BE
    )


def _may_stand_between(word: str) -> bool:
    return word.endswith("ly") or word in NEGATORS or word in _ADVERBS


def _is_participle(word: str) -> bool:
    return word.endswith(("ed", "en", "wn")) or word in _IRREGULAR_PARTICIPLES


def _to_active_text(reading: ParsedText) -> _ActiveText:
    tokens = _in_active_voice(reading.tokens)
    stems = [stem(token) for token in tokens]
    counts = Counter(stems)
    positions = {
        word: at
        for at, word in enumerate(stems)
        if counts[word] == 1 and tokens[at] not in _NO_ARGUMENTS
    }
    return _ActiveText(tokens, positions)


def _are_joined(first: str, second: str, a: _ActiveText, b: _ActiveText) -> bool:
    """Whether both texts only list the two words.

    An example is "the type and the size" of a file.
    """
    return all(
        _is_list(text.tokens, *sorted((text.positions[first], text.positions[second])))
        for text in (a, b)
    )


def _is_list(tokens: list[str], start: int, stop: int) -> bool:
    """Whether the two words belong to one list.

    Between them there is only "and" or "or", and at most one other word.
    """
    if stop - start > _LONGEST_JOINT:
        return False
    between = tokens[start + 1 : stop]
    others = [token for token in between if token not in _CONJUNCTIONS]
    return len(others) <= 1 and ("and" in between or "or" in between)


def _keep_prepositions(first: str, second: str, a: _ActiveText, b: _ActiveText) -> bool:
    """Whether two phrases with prepositions only changed their places.

    An example is "in tests … for calls", which became "for calls … in tests".
    """
    of_first = _preposition_of(a.tokens, a.positions[first])
    of_second = _preposition_of(a.tokens, a.positions[second])
    return (
        None not in (of_first, of_second)
        and of_first != of_second
        and of_first == _preposition_of(b.tokens, b.positions[first])
        and of_second == _preposition_of(b.tokens, b.positions[second])
    )


def _preposition_of(tokens: list[str], at: int) -> str | None:
    for token in reversed(tokens[max(at - 3, 0) : at]):
        if token in PREPOSITIONS:
            return token
        if token in STOPS or token in LINKS or token in BE:
            return None
    return None
