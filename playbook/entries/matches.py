"""TODO docstring."""

from __future__ import annotations

import re
import uuid
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Literal

from common.text import literals
from common.text import plain_text as texts
from common.text.contradiction import disagreement
from inference.embedding.vector import Vector
from playbook.entries.neighbours import (
    MAX_NEIGHBOURS,
    MERGE_COSINE,
    Neighbour,
    find_exact,
    find_nearest,
    nearest_in,
)
from playbook.models import PlaybookEntry
from playbook.queries import EntryQuerySet
from playbook.rule_text import merge_texts, text_patterns

# Codes of `common.text.contradiction.disagreement` that turn a rule round; the others name other things.
REVERSAL_CODES = ("negation", "antonym", "quantifier", "order")


_WORD = re.compile(r"\w+")


# The action of a lesson that corrects an answer.
_ANSWER = re.compile(r"answer `[^`\n]+`")


@dataclass(frozen=True)
class Match:
    """How a text goes together with the playbook.

    new: nothing is near · same: the neighbour says it · wider: the text says it and
    more · both: each says something more, and `merged` says it all · alike: nobody but
    a person can tell · against: one of the two is wrong.
    """

    verdict: Literal["new", "same", "wider", "both", "alike", "against"]
    neighbour: Neighbour | None = None
    merged: str = ""


NO_MATCH = Match("new")


def find_retired(
    project_id: uuid.UUID,
    text: str,
    vector: Vector | None,
    *,
    condition: str = "",
    action: str = "",
) -> PlaybookEntry | None:
    """An entry that said the same and was taken out of the playbook."""
    rows: EntryQuerySet = PlaybookEntry.objects.retired().filter(project_id=project_id)
    same = rows.light().filter(similarity_hash=texts.similarity_hash(text))
    if twin := same.order_by("-pk").first():
        found: PlaybookEntry = twin
        return found
    if vector is None or _ANSWER.fullmatch(action):
        return None  # the answer to one question is no answer to another
    for near in nearest_in(rows, vector, MAX_NEIGHBOURS, MERGE_COSINE):
        match = compare(text, near, condition=condition, action=action)
        if match.verdict == "same":
            return near.entry
    return None


def find_match(
    project_id: uuid.UUID,
    text: str,
    vector: Vector | None,
    *,
    condition: str = "",
    action: str = "",
    without: Collection[uuid.UUID] = (),
) -> Match:
    """Place a text among the active entries; without a vector only exact copies count."""
    twin = find_exact(project_id, text)
    if twin and twin.pk not in without:
        return Match("same", Neighbour(twin, 1.0))
    near = find_nearest(project_id, vector, without=without) if vector else []
    verdicts = [
        compare(text, neighbour, condition=condition, action=action)
        for neighbour in near
    ]
    for wanted in ("same", "wider", "both", "against", "alike"):
        for verdict in verdicts:
            if verdict.verdict == wanted:
                return verdict
    return NO_MATCH


def compare(
    text: str, near: Neighbour, *, condition: str = "", action: str = ""
) -> Match:
    """How a text goes together with one entry that is near it."""
    if _ANSWER.fullmatch(action) and _ANSWER.fullmatch(near.entry.action):
        return _compare_answers(condition, action, near)
    entry, similarity = near.entry, near.similarity
    ours, theirs = literals.find_literals(text), literals.find_literals(entry.content)
    reason = disagreement.reason_to_keep_apart(entry.content, text)
    beside = reason and disagreement_without_names(entry.content, text)
    near = Neighbour(entry, similarity, beside or reason)
    is_turned = bool(beside) and str(beside).partition(":")[0] in REVERSAL_CODES
    if is_turned:
        return _compare_reversed(text, condition, near)
    # "4 workers" and "four workers" name the same, whatever their literals.
    names_differ = bool(reason) and not (ours <= theirs or theirs <= ours)
    is_one_rule = similarity >= MERGE_COSINE and not beside
    both = (
        merge_texts.merge(entry.content, text) if names_differ and is_one_rule else None
    )
    if both:
        return Match("both", near, both)
    if beside or names_differ:
        # Two rules that name different things are two rules, unless all else is equal.
        is_slot = similarity >= MERGE_COSINE and _have_same_case(condition, near)
        return Match("against", near) if is_slot else NO_MATCH
    if similarity >= MERGE_COSINE:
        adds = bool(reason) and not ours <= theirs
        return Match("wider" if adds else "same", near)
    is_superset = theirs <= ours and _word_set(entry.content) <= _word_set(text)
    return Match("wider" if is_superset else "alike", near)


def _compare_reversed(text: str, condition: str, near: Neighbour) -> Match:
    """One turns the other round, and is no news unless the two name other conditions."""
    if _have_same_case(condition, near):
        return Match("against", near)
    if condition and near.entry.condition:
        return NO_MATCH
    is_same = _have_same_words(text, near.entry.content)
    return Match("against" if is_same else "alike", near)


def _compare_answers(condition: str, action: str, near: Neighbour) -> Match:
    """Two rules that give the answer to a question: each question has one.

    The names and numbers in two questions are no names of two things.
    """
    is_one = _fold(condition) == _fold(near.entry.condition)
    if action == near.entry.action:
        is_near = is_one or near.similarity >= MERGE_COSINE
        return Match("same", near) if is_near else NO_MATCH
    told = replace(near, disagreement=f"value: {near.entry.action} / {action}")
    return Match("against", told) if is_one else NO_MATCH


def disagreement_without_names(old: str, new: str) -> str | None:
    """What two texts disagree about once the literals of one side are taken out.

    The guard names its first reason only; an added path must not hide a "never".
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
    """Whether two rules that disagree speak of the same case.

    Rules for different conditions may differ. With the same one, being about the
    same is enough; with none known, the texts must be nearly equal.
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
    """Whether all telling words of the shorter text stand in the other one."""
    left, right = (
        _word_set(one) - text_patterns.VAGUE,
        _word_set(other) - text_patterns.VAGUE,
    )
    return bool(left and right) and (left <= right or right <= left)
