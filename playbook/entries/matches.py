"""Compare a text with entries.

A text may state the same rule as an entry, stand near one, or be a new rule.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

from common.text import literals, same_text
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

# A rule that answers one question, and the answer. Such rules are compared by their questions.
ANSWER = re.compile(r"\A(.*)\banswer (`[^`\n]+`)\.?\Z", re.DOTALL)


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
    project_id: uuid.UUID, text: str, vector: Vector | None
) -> PlaybookEntry | None:
    """Find a deprecated or deleted entry that says nearly the same."""
    rows: EntryQuerySet = PlaybookEntry.objects.inactive().filter(project_id=project_id)
    same = rows.light().filter(similarity_hash=same_text.hash_text(text))
    if twin := same.order_by("-pk").first():
        found: PlaybookEntry = twin
        return found
    if vector is None or ANSWER.match(text):
        return None  # An answer holds only for its own question.
    near = nearest_in(rows, vector, MAX_NEIGHBOURS, MERGE_COSINE)
    return near[0].entry if near else None


def compare_with_entries(
    project_id: uuid.UUID,
    text: str,
    vector: Vector | None,
    *,
    without: Collection[uuid.UUID] = (),
) -> Match:
    """Compare a text with the active entries; without a vector, find only its copies."""
    twin = find_exact(project_id, text)
    if twin and twin.pk not in without:
        return Match("same", Neighbour(twin, 1.0))
    near = find_nearest(project_id, vector, without=without) if vector else []
    verdicts = [compare(text, neighbour) for neighbour in near]
    found = (v for kind in ("same", "near") for v in verdicts if v.verdict == kind)
    return next(found, NO_MATCH)


def compare(text: str, near: Neighbour) -> Match:
    """Compare a text with one entry whose vector is near."""
    entry = near.entry
    ours, theirs = ANSWER.match(text), ANSWER.match(entry.content)
    if ours and theirs:
        return _compare_answers(ours, theirs, near)
    is_close = near.similarity >= MERGE_COSINE
    if is_close and same_text.is_same(text, entry.content):
        return Match("same", near)
    # Two texts that name other files, commands or values are two rules, unless all else
    # is nearly equal.
    named, known = (literals.find_literals(each) for each in (text, entry.content))
    names_others = not (named <= known or known <= named)
    return (
        NO_MATCH if names_others and not is_close else Match("near", near, names_others)
    )


def _compare_answers(
    ours: re.Match[str], theirs: re.Match[str], near: Neighbour
) -> Match:
    """Compare two rules that answer a question, which has only one answer.

    Different names and numbers in the questions do not make the rules differ.
    """
    is_one = same_text.is_same(ours[1], theirs[1])
    if ours[2] == theirs[2]:
        is_near = is_one or near.similarity >= MERGE_COSINE
        return Match("same", near) if is_near else NO_MATCH
    return Match("near", near) if is_one else NO_MATCH
