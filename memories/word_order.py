"""Who does what to whom: the same words in another order can say the opposite."""

from __future__ import annotations

from collections import Counter

from memories.opposites import stem
from memories.readings import (
    BE,
    LIGHT,
    LINKS,
    PREPOSITIONS,
    SILENT,
    STOPS,
    Reading,
    words_of,
)

_IRREGULAR_PARTICIPLES = words_of(
    "built sent read set run put kept held cut made done found sold told lost paid"
    " bound caught taught drawn hung hit let led left shut split"
)
_SPOKEN = {"instead": "instead of"}
# Words further apart than this are hardly arguments of one verb.
_REACH = 12


def relation_turned_round(a: Reading, b: Reading) -> str | None:
    """Find who comes before whom, and what stands instead of what, turned round."""
    for markers in (("before", "after"), ("instead",)):
        one, other = _ends(a.tokens, markers), _ends(b.tokens, markers)
        if one and other and one[0] & other[1] and one[1] & other[0]:
            return f'order: turned round at "{_SPOKEN.get(markers[0], markers[0])}"'
        said = {word for word in markers if word in a.words}
        if not (one and other) and said ^ {word for word in markers if word in b.words}:
            return f"antonym: {' / '.join(markers)}"
    return None


def _is_retold(a: Reading, b: Reading) -> bool:
    """Whether "x before y" became "y after x", which turns every word round."""
    return ("before" in a.words) != ("before" in b.words) and (
        ("after" in a.words) != ("after" in b.words)
    )


def _ends(
    tokens: list[str], markers: tuple[str, ...]
) -> tuple[set[str], set[str]] | None:
    """Split the words around the one marker into those before and those after it."""
    places = [at for at, token in enumerate(tokens) if token in markers]
    if len(places) != 1:
        return None
    (at,) = places
    start = max((i + 1 for i in range(at) if tokens[i] in ".;!?"), default=0)
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
    return {stem(token) for token in tokens if token not in LIGHT}


def arguments_swapped(a: Reading, b: Reading) -> str | None:
    """Find `x … p … y` against `y … p … x`, after the voices are made equal."""
    tokens_a, tokens_b = _in_active_voice(a.tokens), _in_active_voice(b.tokens)
    if _passives(tokens_a) != _passives(tokens_b) or _is_retold(a, b):
        return None
    place_a, place_b = _places(tokens_a), _places(tokens_b)
    shared = [word for word in place_a if word in place_b]
    for at, pivot in enumerate(shared):
        before = shared[max(at - _REACH, 0) : at]
        later = [word for word in before if place_b[word] > place_b[pivot]]
        after = shared[at + 1 : at + 1 + _REACH] if later else []
        for second in after:
            for first in later if place_b[second] < place_b[pivot] else []:
                if {first, second}.isdisjoint(PREPOSITIONS) and not (
                    _keep_prepositions(first, second, tokens_a, tokens_b)
                ):
                    return f'order: {first} / {second} around "{pivot}"'
    return None


def _in_active_voice(tokens: list[str]) -> list[str]:
    """Turn `x is done by y` into `y done x`."""
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
            tokens[at + 1].endswith("ly")
            and _is_participle("".join(tokens[at + 2 : at + 3]))
        )
        for at, token in enumerate(tokens[:-1])
        if token in BE
    )


def _is_participle(word: str) -> bool:
    return word.endswith(("ed", "en", "wn")) or word in _IRREGULAR_PARTICIPLES


def _places(tokens: list[str]) -> dict[str, int]:
    """Map each word that stands once to its place, in order."""
    stems = [stem(token) for token in tokens]
    counts = Counter(stems)
    return {
        word: at
        for at, word in enumerate(stems)
        if counts[word] == 1 and tokens[at] not in SILENT
    }


def _keep_prepositions(first: str, second: str, a: list[str], b: list[str]) -> bool:
    """Whether "in tests … for calls" merely became "for calls … in tests"."""
    of_first = _preposition_of(a, _places(a)[first])
    of_second = _preposition_of(a, _places(a)[second])
    return (
        None not in (of_first, of_second)
        and of_first != of_second
        and of_first == _preposition_of(b, _places(b)[first])
        and of_second == _preposition_of(b, _places(b)[second])
    )


def _preposition_of(tokens: list[str], at: int) -> str | None:
    for token in reversed(tokens[max(at - 3, 0) : at]):
        if token in PREPOSITIONS:
            return token
        if token in STOPS or token in LINKS or token in BE:
            return None
    return None
