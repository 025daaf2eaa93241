"""Find dangerous advice in words: a verb of one table with an object of another.

In English the object follows its verb closely (`skip all the tests`) or is the subject of
the passive (`the tests can be skipped`). In other languages the words may stand in any
order, near one another.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import pairwise, product

from common.text.danger.phrase_rules import RULES, PhraseRule
from common.text.danger.word_scan import (
    Token,
    WordIndex,
    WordMatch,
    find_marks,
    tokenise,
)
from common.text.danger.word_tables import read_entries, read_lines

MAX_DISTANCE = 70  # characters between words of other languages
MAX_MARKS = 12  # of one table in one sentence

SENTENCE_END = re.compile(r"[.!?;](?=[\s\"')\]]|$)|[\n\u3002]")


# Words that end the object of a verb.
_STOPS = frozenset(
    [
        "if",
        "when",
        "whenever",
        "while",
        "once",
        "unless",
        "until",
        "after",
        "before",
        "because",
        "since",
        "where",
        "for",
        "to",
        "in",
        "on",
        "at",
        "from",
        "with",
        "by",
        "that",
        "which",
        "who",
        "but",
        "into",
        "via",
        "during",
        "against",
        "under",
        "per",
        "not",
        "no",
        "only",
        "between",
        "than",
        "so",
    ]
)
# A noun before them is the subject of another clause: `check that all requests were sent`.
_SUBJECT_OF = frozenset(["were", "was", "have", "has", "had"])
_PASSIVE = frozenset(
    ["be", "can", "may", "should", "must", "could", "might", "to", "safely"]
)


def find_phrases(
    text: str, rules: tuple[PhraseRule, ...] = RULES
) -> Iterator[tuple[str, int, int, int]]:
    """Yield the kind and the place of each phrase of the rules, and the place of its verb."""
    tokens = tokenise(text)
    marks = _without_stems(find_marks(text, tokens, _index(rules)))
    if not marks:
        return
    ends = [match.start() for match in SENTENCE_END.finditer(text)]
    for sentence in _by_sentence(marks, ends):
        for rule in rules:
            if all(table in sentence for table in rule.tables):
                yield from _apply(rule, sentence, tokens)


def _without_stems(marks: Sequence[WordMatch]) -> list[WordMatch]:
    """Join an English word with the words of other languages that it begins with."""
    english = {(mark.table, mark.first) for mark in marks if mark.english}
    foreign = {(mark.table, mark.first) for mark in marks if mark.foreign}
    return [
        mark._replace(foreign=(mark.table, mark.first) in foreign)
        for mark in marks
        if mark.english or (mark.table, mark.first) not in english
    ]


@cache
def _index(rules: tuple[PhraseRule, ...]) -> WordIndex:
    index = WordIndex()
    for table in sorted({table for rule in rules for table in rule.tables}):
        index.add(read_entries(table))
    return index


@cache
def _compounds() -> frozenset[str]:
    return frozenset(read_lines("compounds"))


def _by_sentence(
    marks: Sequence[WordMatch], ends: Sequence[int]
) -> Iterator[dict[str, list[WordMatch]]]:
    """Group the marks by sentence, then by table."""
    groups: dict[int, dict[str, list[WordMatch]]] = {}
    number = 0
    for mark in sorted(marks, key=lambda mark: mark.start):
        while number < len(ends) and ends[number] < mark.start:
            number += 1
        found = groups.setdefault(number, {}).setdefault(mark.table, [])
        if len(found) < MAX_MARKS:
            found.append(mark)
    yield from groups.values()


def _apply(
    rule: PhraseRule, sentence: dict[str, list[WordMatch]], tokens: Sequence[Token]
) -> Iterator[tuple[str, int, int, int]]:
    for verb in sentence[rule.tables[0]]:
        for others in product(*(sentence[table] for table in rule.tables[1:])):
            if _belong(rule, verb, others, tokens):
                start = min(mark.start for mark in (verb, *others))
                end = max(mark.end for mark in (verb, *others))
                yield rule.kind, start, end, verb.start
                break


def _belong(
    rule: PhraseRule,
    verb: WordMatch,
    others: Sequence[WordMatch],
    tokens: Sequence[Token],
) -> bool:
    if not others:
        return True
    if _overlap(others) or not _are_near(rule, (verb, *others)):
        return False
    if rule.unless and not rule.unless.isdisjoint(_words_between(verb, others, tokens)):
        return False
    if all(mark.english for mark in (verb, *others)):
        return _governs(verb, others[0], tokens, rule.close)
    return verb.foreign and any(mark.foreign for mark in others)


def _overlap(marks: Sequence[WordMatch]) -> bool:
    ordered = sorted(marks, key=lambda mark: mark.start)
    return any(one.end > other.start for one, other in pairwise(ordered))


def _words_between(
    verb: WordMatch, others: Sequence[WordMatch], tokens: Sequence[Token]
) -> list[str]:
    last = max(mark.last for mark in (verb, *others))
    return [token.word for token in tokens[max(verb.first, 0) : last + 1]]


def _are_near(rule: PhraseRule, marks: Sequence[WordMatch]) -> bool:
    if any(mark.first < 0 for mark in marks):
        starts = [mark.start for mark in marks]
        return max(starts) - min(starts) <= MAX_DISTANCE
    first = min(mark.first for mark in marks)
    last = max(mark.last for mark in marks)
    return last - first <= rule.within


def _governs(
    verb: WordMatch, noun: WordMatch, tokens: Sequence[Token], close: int
) -> bool:
    """Whether the noun is the object of the verb, or the subject of its passive."""
    following = tokens[noun.last + 1].word if noun.last + 1 < len(tokens) else ""
    if following in _SUBJECT_OF or (
        following in _compounds() and _adjoins(tokens, noun.last)
    ):
        return False
    if verb.first <= noun.first <= verb.last:
        return True
    if noun.first > verb.last:
        if tokens[verb.last].word.endswith("ed"):
            return False  # an adjective: `skipped tests`
        between = [token.word for token in tokens[verb.last + 1 : noun.first]]
        return len(between) <= close and (close > 5 or not _STOPS.intersection(between))
    between = [token.word for token in tokens[noun.last + 1 : verb.first]]
    is_participle = tokens[verb.first].word.endswith(("ed", "en", "ut"))
    return is_participle and len(between) <= 4 and not _PASSIVE.isdisjoint(between[-3:])


def _adjoins(tokens: Sequence[Token], number: int) -> bool:
    return tokens[number + 1].start - tokens[number].end <= 1
