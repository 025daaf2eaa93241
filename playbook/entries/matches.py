"""Compare a text with entries.

A text may state the same rule as an entry, stand near one, or be a new rule.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal

from common.text import literals, same_text
from common.text import plain_text as texts
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

# The action of a lesson that corrects an answer. Such rules are compared by their questions.
ANSWER = re.compile(r"answer `[^`\n]+`")


@dataclass(frozen=True)
class Match:
    """How a text relates to the playbook.

    new: no entry is near. same: the neighbour has the words of the text. near: the two are
    similar, and only a person or a model can tell whether they say the same, add to each
    other or contradict each other.
    """

    verdict: Literal["new", "same", "near"]
    neighbour: Neighbour | None = None
    names_others: bool = False  # each text names something that the other one lacks


NO_MATCH = Match("new")


def find_retired(
    project_id: uuid.UUID, text: str, vector: Vector | None, *, action: str = ""
) -> PlaybookEntry | None:
    """Find a deprecated or deleted entry that says nearly the same."""
    rows: EntryQuerySet = PlaybookEntry.objects.inactive().filter(project_id=project_id)
    same = rows.light().filter(similarity_hash=texts.similarity_hash(text))
    if twin := same.order_by("-pk").first():
        found: PlaybookEntry = twin
        return found
    if vector is None or ANSWER.fullmatch(action):
        return None  # An answer holds only for its own question.
    near = nearest_in(rows, vector, MAX_NEIGHBOURS, MERGE_COSINE)
    return near[0].entry if near else None


def compare_with_entries(
    project_id: uuid.UUID,
    text: str,
    vector: Vector | None,
    *,
    condition: str = "",
    action: str = "",
    without: Collection[uuid.UUID] = (),
) -> Match:
    """Compare a text with the active entries; without a vector, find only its copies."""
    twin = find_exact(project_id, text)
    if twin and twin.pk not in without:
        return Match("same", Neighbour(twin, 1.0))
    near = find_nearest(project_id, vector, without=without) if vector else []
    verdicts = [
        compare(text, neighbour, condition=condition, action=action)
        for neighbour in near
    ]
    return _best_match(verdicts)


def _best_match(verdicts: Sequence[Match]) -> Match:
    for kind in ("same", "near"):
        for verdict in verdicts:
            if verdict.verdict == kind:
                return verdict
    return NO_MATCH


def compare(
    text: str, near: Neighbour, *, condition: str = "", action: str = ""
) -> Match:
    """Compare a text with one entry whose vector is near."""
    entry = near.entry
    if ANSWER.fullmatch(action) and ANSWER.fullmatch(entry.action):
        return _compare_answers(condition, action, near)
    is_close = near.similarity >= MERGE_COSINE
    if is_close and same_text.is_same(text, entry.content):
        return Match("same" if _fold(action) == _fold(entry.action) else "near", near)
    ours, theirs = literals.find_literals(text), literals.find_literals(entry.content)
    # Two texts that name other files, commands or values are two rules, unless all else
    # is nearly equal.
    are_about_others = not (ours <= theirs or theirs <= ours)
    cases = {_fold(condition), _fold(entry.condition)} - {""}
    if are_about_others and (not is_close or len(cases) > 1):
        return NO_MATCH
    return Match("near", near, are_about_others)


def _compare_answers(condition: str, action: str, near: Neighbour) -> Match:
    """Compare two rules that answer a question.

    A question has only one answer. Different names and numbers in the questions do not
    make the rules differ.
    """
    is_one = _fold(condition) == _fold(near.entry.condition)
    if action == near.entry.action:
        is_near = is_one or near.similarity >= MERGE_COSINE
        return Match("same", near) if is_near else NO_MATCH
    return Match("near", near) if is_one else NO_MATCH


def _fold(text: str) -> str:
    return " ".join(text.casefold().split())
