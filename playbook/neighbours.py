"""What of a playbook stands near a text, and how the two go together."""

from __future__ import annotations

import re
import uuid
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from common.text import literals
from common.text import plain_text as texts
from common.text.contradiction import disagreement
from inference.embedding import active_model
from inference.embedding.vector import Vector
from inference.errors import InferenceError
from playbook import merging, wording
from playbook.models import PlaybookEntry
from playbook.queries import EntryQuerySet
from projects.models import Project
from search import semantic

# Cosines (docs/playbook.md, "What the curator does with a lesson"): from MERGE on two
# rules are one unless a guard objects; between ALIKE and MERGE a person is asked; below
# they are two.
MERGE = 0.90
ALIKE = 0.70
# Neighbours looked at: the nearest may be guarded while the next says the same.
LOOKED_AT = 5
# Codes of `common.text.contradiction.disagreement` that turn a rule round; the others name other things.
TURNED = ("negation", "antonym", "quantifier", "order")

_WORD = re.compile(r"\w+")
# The action of a lesson that corrects an answer.
_ANSWER = re.compile(r"answer `[^`\n]+`")


@dataclass(frozen=True)
class Neighbour:
    """An entry, its cosine to the text, and what the two disagree about."""

    entry: PlaybookEntry
    similarity: float
    disagreement: str | None = None


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


NEW = Match("new")


def embed(lines: Sequence[str]) -> list[Vector] | None:
    """The vectors of texts; None when the model does not answer."""
    try:
        return active_model.embed(lines) if lines else []
    except InferenceError:
        return None


def embed_one(text: str) -> Vector | None:
    made = embed([text])
    return made[0] if made else None


def exact(project_id: uuid.UUID, text: str) -> PlaybookEntry | None:
    """The active entry with the same text, whatever its case and spacing."""
    found: PlaybookEntry | None = (
        PlaybookEntry.objects.current()
        .light()
        .filter(project_id=project_id, similarity_hash=texts.similarity_hash(text))
        .first()
    )
    return found


def nearest(
    project_id: uuid.UUID,
    vector: Vector,
    *,
    top: int = LOOKED_AT,
    threshold: float = ALIKE,
    without: Collection[uuid.UUID] = (),
) -> list[Neighbour]:
    """Active entries at or above a cosine, nearest first."""
    rows = PlaybookEntry.objects.current().filter(project_id=project_id)
    return _nearest(rows.exclude(pk__in=without), vector, top, threshold)


def _nearest(
    rows: EntryQuerySet, vector: Vector, top: int, threshold: float
) -> list[Neighbour]:
    scores = semantic.exact_cosines(rows, vector)
    best = [pk for pk, score in scores.items() if score >= threshold][:top]
    entries = PlaybookEntry.objects.light().in_bulk(best)
    return [Neighbour(entries[pk], round(scores[pk], 4)) for pk in best]


def retired(
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
    for near in _nearest(rows, vector, LOOKED_AT, MERGE):
        match = compare(text, near, condition=condition, action=action)
        if match.verdict == "same":
            return near.entry
    return None


def related(project: Project, text: str) -> list[Neighbour]:
    """The entries that a task's text is about; none when the model does not answer."""
    vector = embed_one(text)
    if not vector:
        return []
    return nearest(project.pk, vector)


def match(
    project_id: uuid.UUID,
    text: str,
    vector: Vector | None,
    *,
    condition: str = "",
    action: str = "",
    without: Collection[uuid.UUID] = (),
) -> Match:
    """Place a text among the active entries; without a vector only exact copies count."""
    twin = exact(project_id, text)
    if twin and twin.pk not in without:
        return Match("same", Neighbour(twin, 1.0))
    near = nearest(project_id, vector, without=without) if vector else []
    verdicts = [
        compare(text, neighbour, condition=condition, action=action)
        for neighbour in near
    ]
    for wanted in ("same", "wider", "both", "against", "alike"):
        for verdict in verdicts:
            if verdict.verdict == wanted:
                return verdict
    return NEW


def compare(
    text: str, near: Neighbour, *, condition: str = "", action: str = ""
) -> Match:
    """How a text goes together with one entry that is near it."""
    if _ANSWER.fullmatch(action) and _ANSWER.fullmatch(near.entry.action):
        return _of_answers(condition, action, near)
    entry, similarity = near.entry, near.similarity
    ours, theirs = literals.find_literals(text), literals.find_literals(entry.content)
    reason = disagreement.reason_to_keep_apart(entry.content, text)
    beside = reason and disagreement_beside_names(entry.content, text)
    near = Neighbour(entry, similarity, beside or reason)
    is_turned = bool(beside) and str(beside).partition(":")[0] in TURNED
    if is_turned:
        return _of_turned(text, condition, near)
    # "4 workers" and "four workers" name the same, whatever their literals.
    names_differ = bool(reason) and not (ours <= theirs or theirs <= ours)
    is_one_rule = similarity >= MERGE and not beside
    both = merging.merged(entry.content, text) if names_differ and is_one_rule else None
    if both:
        return Match("both", near, both)
    if beside or names_differ:
        # Two rules that name different things are two rules, unless all else is equal.
        is_slot = similarity >= MERGE and _meet(condition, near)
        return Match("against", near) if is_slot else NEW
    if similarity >= MERGE:
        adds = bool(reason) and not ours <= theirs
        return Match("wider" if adds else "same", near)
    is_superset = theirs <= ours and _words(entry.content) <= _words(text)
    return Match("wider" if is_superset else "alike", near)


def _of_turned(text: str, condition: str, near: Neighbour) -> Match:
    """One turns the other round, and is no news unless the two name other conditions."""
    if _meet(condition, near):
        return Match("against", near)
    if condition and near.entry.condition:
        return NEW
    is_same = _same_words(text, near.entry.content)
    return Match("against" if is_same else "alike", near)


def _of_answers(condition: str, action: str, near: Neighbour) -> Match:
    """Two rules that give the answer to a question: each question has one.

    The names and numbers in two questions are no names of two things.
    """
    is_one = _folded(condition) == _folded(near.entry.condition)
    if action == near.entry.action:
        is_near = is_one or near.similarity >= MERGE
        return Match("same", near) if is_near else NEW
    told = replace(near, disagreement=f"value: {near.entry.action} / {action}")
    return Match("against", told) if is_one else NEW


def disagreement_beside_names(old: str, new: str) -> str | None:
    """What two texts disagree about once the literals of one side are taken out.

    The guard names its first reason only; an added path must not hide a "never".
    """
    shared = literals.find_literals(old) & literals.find_literals(new)
    return disagreement.reason_to_keep_apart(
        _without(literals.find_literals(old).difference(shared), old),
        _without(literals.find_literals(new).difference(shared), new),
    )


def _without(literals: Collection[str], text: str) -> str:
    for literal in sorted(literals, key=len, reverse=True):
        quoted = rf"[`\"']{re.escape(literal)}[`\"']"
        text = re.sub(rf"{quoted}|(?<!\w){re.escape(literal)}(?!\w)", " ", text)
    return " ".join(text.split())


def _meet(condition: str, near: Neighbour) -> bool:
    """Whether two rules that disagree speak of the same case.

    Rules for different conditions may differ. With the same one, being about the
    same is enough; with none known, the texts must be nearly equal.
    """
    left, right = _folded(condition), _folded(near.entry.condition)
    if left and right:
        return left == right
    return near.similarity >= MERGE


def _folded(text: str) -> str:
    return " ".join(text.casefold().split())


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text.casefold()))


def _same_words(one: str, other: str) -> bool:
    """Whether all telling words of the shorter text stand in the other one."""
    left, right = _words(one) - wording.VAGUE, _words(other) - wording.VAGUE
    return bool(left and right) and (left <= right or right <= left)
