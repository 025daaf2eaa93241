"""Compare a text with entries.

A text may state the same rule as an entry, a wider rule, a contradiction, or a new
rule.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from common.text import literals
from common.text import overlap as word_overlap
from common.text import plain_text as texts
from common.text.contradiction import disagreement, rule_opposition
from inference.embedding import active_model
from inference.embedding.vector import Vector
from playbook.entries.neighbours import (
    ALIKE_COSINE,
    MAX_NEIGHBOURS,
    MERGE_COSINE,
    Neighbour,
    find_exact,
    find_nearest,
    nearest_in,
)
from playbook.entries.opposed_rules import ANSWER, OpposedRule, RuleIndex, rule_text
from playbook.models import PlaybookEntry
from playbook.queries import EntryQuerySet
from playbook.rule_text import merge_texts, text_patterns

# Codes of `common.text.contradiction.disagreement` that reverse a rule. The other codes
# say that two texts name different things.
REVERSAL_CODES = ("negation", "antonym", "quantifier", "order")
_WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class Match:
    """How a text relates to the playbook.

    new: no entry is near. same: the neighbour says the same as the text. wider: the
    text says what the neighbour says, and more. both: the text and the neighbour each
    say something that the other lacks, and `merged_text` says everything. alike: only a
    person can tell. against: the text and the neighbour contradict each other.
    """

    verdict: Literal["new", "same", "wider", "both", "alike", "against"]
    neighbour: Neighbour | None = None
    merged_text: str = ""


NO_MATCH = Match("new")


@dataclass(frozen=True)
class Comparison:
    """How a text relates to the active entries, and all entries that it contradicts."""

    match: Match
    contradicted: tuple[Neighbour, ...] = ()


NOT_COMPARED = Comparison(NO_MATCH)


def find_retired(
    project_id: uuid.UUID,
    text: str,
    vector: Vector | None,
    *,
    condition: str = "",
    action: str = "",
) -> PlaybookEntry | None:
    """Find a deprecated or deleted entry that says the same."""
    rows: EntryQuerySet = PlaybookEntry.objects.inactive().filter(project_id=project_id)
    same = rows.light().filter(similarity_hash=texts.similarity_hash(text))
    if twin := same.order_by("-pk").first():
        found: PlaybookEntry = twin
        return found
    if vector is None or ANSWER.fullmatch(action):
        return None  # An answer holds only for its own question.
    for near in nearest_in(rows, vector, MAX_NEIGHBOURS, MERGE_COSINE):
        match = compare(text, near, condition=condition, action=action)
        if match.verdict == "same":
            return near.entry
    return None


def compare_with_entries(
    project_id: uuid.UUID,
    text: str,
    vector: Vector | None,
    *,
    condition: str = "",
    action: str = "",
    without: Collection[uuid.UUID] = (),
    rules: RuleIndex | None = None,
) -> Comparison:
    """Compare a text with the active entries.

    A text that an entry states can still contradict other entries. Without a vector,
    exact copies of the text are found, and entries that its words contradict. `rules`
    are the active rules, if the caller has loaded them.
    """
    near = find_nearest(project_id, vector, without=without) if vector else []
    verdicts = [
        compare(text, neighbour, condition=condition, action=action)
        for neighbour in near
    ]
    against = [v.neighbour for v in verdicts if v.verdict == "against" and v.neighbour]
    if not ANSWER.fullmatch(action):
        known = {*without, *(neighbour.entry.pk for neighbour in against)}
        rules = rules or RuleIndex.load(project_id)
        demand = rule_text(text, action)
        opposed = list(rules.find_opposed(demand, condition, without=known))
        against += _as_neighbours(opposed, near)
    match = _exact_match(project_id, text, without) or _best_match(verdicts)
    return Comparison(match, tuple(against))


def _as_neighbours(
    opposed: Sequence[OpposedRule], near: Sequence[Neighbour]
) -> list[Neighbour]:
    cosines = {neighbour.entry.pk: neighbour.similarity for neighbour in near}
    entries = PlaybookEntry.objects.light().in_bulk([o.entry_id for o in opposed])
    return [
        Neighbour(entries[o.entry_id], cosines.get(o.entry_id, 0.0), o.reason)
        for o in opposed
        if o.entry_id in entries
    ]


def _exact_match(
    project_id: uuid.UUID, text: str, without: Collection[uuid.UUID]
) -> Match | None:
    twin = find_exact(project_id, text)
    if twin is None or twin.pk in without:
        return None
    return Match("same", Neighbour(twin, 1.0))


def _best_match(verdicts: Sequence[Match]) -> Match:
    for kind in ("same", "wider", "both", "against", "alike"):
        for verdict in verdicts:
            if verdict.verdict == kind:
                return verdict
    return NO_MATCH


def find_contradicted(
    entry: PlaybookEntry, rules: RuleIndex | None, *, settled: Iterable[uuid.UUID]
) -> Sequence[Neighbour]:
    """Return the active entries that an entry contradicts, without those of `settled`."""
    return compare_with_entries(
        entry.project_id,
        entry.content,
        entry.embedding,
        condition=entry.condition,
        action=entry.action,
        without={entry.pk, *settled},
        rules=rules,
    ).contradicted


def compare(
    text: str, near: Neighbour, *, condition: str = "", action: str = ""
) -> Match:
    """Compare a text with one entry whose vector is near."""
    if ANSWER.fullmatch(action) and ANSWER.fullmatch(near.entry.action):
        return _compare_answers(condition, action, near)
    entry = near.entry
    opposition = rule_opposition.find_opposition(
        rule_text(entry.content, entry.action),
        rule_text(text, action),
        condition=entry.condition,
        other_condition=condition,
    )
    if opposition:
        return Match("against", replace(near, disagreement=opposition))
    similarity = _limit_similarity(text, near)
    ours, theirs = literals.find_literals(text), literals.find_literals(entry.content)
    reason = disagreement.reason_to_keep_apart(entry.content, text)
    conflict = reason and disagreement_without_names(entry.content, text)
    near = Neighbour(entry, similarity, conflict or reason)
    is_reversal = bool(conflict) and str(conflict).partition(":")[0] in REVERSAL_CODES
    if is_reversal:
        return _compare_reversed(text, condition, near)
    # "4 workers" and "four workers" name the same thing with different literals.
    names_differ = bool(reason) and not (ours <= theirs or theirs <= ours)
    is_one_rule = similarity >= MERGE_COSINE and not conflict
    both = (
        merge_texts.merge(entry.content, text) if names_differ and is_one_rule else None
    )
    if both:
        return Match("both", near, both)
    if (conflict or names_differ) and _is_open(conflict or reason or ""):
        return Match("alike", near)
    if conflict or names_differ:
        # Two texts that name different things are two rules unless everything else is
        # equal.
        is_slot = similarity >= MERGE_COSINE and _have_same_case(condition, near)
        return Match("against", near) if is_slot else NO_MATCH
    if similarity >= MERGE_COSINE:
        adds = bool(reason) and not ours <= theirs
        return Match("wider" if adds else "same", near)
    is_superset = theirs <= ours and _word_set(entry.content) <= _word_set(text)
    return Match("wider" if is_superset else "alike", near)


def _limit_similarity(text: str, near: Neighbour) -> float:
    """Return the similarity of two texts; that of two long texts is limited by their words.

    The cosine of long texts is that of their best chunk, such as a beginning that both have.
    """
    split = active_model.get().split
    if not all(len(split(each)) > 1 for each in (text, near.entry.content)):
        return near.similarity
    overlap = word_overlap.compare(near.entry.content, text)
    limit = ALIKE_COSINE if overlap.own_statement else overlap.share
    return min(near.similarity, limit)


def _is_open(conflict: str) -> bool:
    """Whether only a person can tell what a difference means.

    One text may name a value that the other leaves open, or the numbers may be names
    ("rule 1"): `rule_opposition` finds numbers that contradict each other.
    """
    code, _, sides = conflict.partition(": ")
    return code in ("number", "unit") or "nothing" in sides.split(" / ")


def _compare_reversed(text: str, condition: str, near: Neighbour) -> Match:
    """Compare two rules of which one reverses the other.

    The two are separate rules if both name a condition and the conditions differ.
    """
    if _have_same_case(condition, near):
        return Match("against", near)
    if condition and near.entry.condition:
        return NO_MATCH
    is_same = _have_same_words(text, near.entry.content)
    return Match("against" if is_same else "alike", near)


def _compare_answers(condition: str, action: str, near: Neighbour) -> Match:
    """Compare two rules that answer a question.

    A question has only one answer. Different names and numbers in the questions do not
    make the rules differ.
    """
    is_one = _fold(condition) == _fold(near.entry.condition)
    if action == near.entry.action:
        is_near = is_one or near.similarity >= MERGE_COSINE
        return Match("same", near) if is_near else NO_MATCH
    opposite = replace(near, disagreement=f"value: {near.entry.action} / {action}")
    return Match("against", opposite) if is_one else NO_MATCH


def disagreement_without_names(old: str, new: str) -> str | None:
    """Return what two texts disagree about.

    Literals that only one text has are ignored. `reason_to_keep_apart` returns only its
    first reason, and a path that one text adds must not hide a "never".
    """
    shared = literals.find_literals(old) & literals.find_literals(new)
    return disagreement.reason_to_keep_apart(
        _remove_literals(literals.find_literals(old).difference(shared), old),
        _remove_literals(literals.find_literals(new).difference(shared), new),
    )


def _remove_literals(literals: Collection[str], text: str) -> str:
    for literal in sorted(literals, key=len, reverse=True):
        quoted = rf"[`\"']{re.escape(literal)}[`\"']"
        text = re.sub(rf"{quoted}|(?<!\w){re.escape(literal)}(?!\w)", " ", text)
    return " ".join(text.split())


def _have_same_case(condition: str, near: Neighbour) -> bool:
    """Whether two rules that disagree apply to the same case.

    If both rules name a condition, the conditions must be equal. Otherwise the texts
    must be nearly equal.
    """
    left, right = _fold(condition), _fold(near.entry.condition)
    if left and right:
        return left == right
    return near.similarity >= MERGE_COSINE


def _fold(text: str) -> str:
    return " ".join(text.casefold().split())


def _word_set(text: str) -> set[str]:
    return set(_WORD.findall(text.casefold()))


def _have_same_words(one: str, other: str) -> bool:
    """Whether all specific words of one text occur in the other."""
    left, right = (
        _word_set(one) - text_patterns.VAGUE,
        _word_set(other) - text_patterns.VAGUE,
    )
    return bool(left and right) and (left <= right or right <= left)
