"""Estimate the effect of a proposal.

The estimate shows the entries nearest to the proposal, and the recent runs whose agents
would have been given the rule. The estimate needs the embedding model, so only the open
card shows it.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from django.db.models import TextField
from django.db.models.fields.json import KT
from django.db.models.functions import Left

from ace.models import AceRun
from common.caller import Caller
from common.text import question_focus
from common.text.contradiction import disagreement
from inference.embedding import active_model
from inference.embedding.vector import Vector
from inference.errors import InferenceError
from playbook.entries import neighbours
from playbook.entries.neighbours import Neighbour
from playbook.models import PlaybookDelta
from playbook.reading import exposures, relevance
from playbook.reading.exposures import EntryUse
from playbook.review import delta_review

MAX_NEIGHBOURS = 3
MAX_RUNS = 10
MAX_GOAL = 2_000  # only this many characters of a goal are compared


@dataclass(frozen=True)
class AffectedRun:
    """A recent run.

    `is_given` says whether the run's agent would have been given the proposed rule.
    """

    run_id: uuid.UUID
    goal: str
    at: datetime
    similarity: float
    is_given: bool


@dataclass(frozen=True)
class Nearby:
    """The estimated effect of a proposal.

    `note` says which part could not be estimated, and why.
    """

    nearest: Sequence[Neighbour] = ()
    runs: Sequence[AffectedRun] = ()
    use: EntryUse | None = None
    note: str = ""

    @property
    def affected_runs(self) -> list[AffectedRun]:
        return [run for run in self.runs if run.is_given]


def find_nearby(delta: PlaybookDelta, caller: Caller) -> Nearby:
    use = exposures.count_use(delta.entry) if delta.entry else None
    if not delta.content:
        return Nearby(use=use)
    vector = delta_review.embed_text(delta, delta.content).vector
    if vector is None:
        return Nearby(use=use, note="The embedding model did not answer.")
    try:
        runs = _affected_runs(delta, vector, caller)
    except InferenceError as error:
        return Nearby(_nearest_entries(delta, vector), use=use, note=str(error))
    return Nearby(_nearest_entries(delta, vector), runs, use)


def _nearest_entries(delta: PlaybookDelta, vector: Vector) -> list[Neighbour]:
    own = [delta.entry_id] if delta.entry_id else []
    found = neighbours.find_nearest(
        delta.project_id, vector, top=MAX_NEIGHBOURS, threshold=0.0, without=own
    )
    return [_with_disagreement(near, delta.content) for near in found]


def _with_disagreement(near: Neighbour, text: str) -> Neighbour:
    """If the two rules are similar enough to compare, add how they disagree."""
    if near.similarity < neighbours.ALIKE_COSINE:
        return near
    apart = disagreement.reason_to_keep_apart(near.entry.content, text)
    return replace(near, disagreement=apart)


def _affected_runs(
    delta: PlaybookDelta, vector: Vector, caller: Caller
) -> list[AffectedRun]:
    """Compare the rule with the goals of the latest runs.

    `relevance` compares a rule with a task in the same way.
    """
    goal = Left(KT("request__goal"), MAX_GOAL, output_field=TextField())
    rows = AceRun.objects.visible_to(caller).filter(project_id=delta.project_id)
    latest = rows.order_by("-pk").annotate(goal=goal)[:MAX_RUNS]
    return [
        _affected_run(delta, vector, *run)
        for run in latest.values_list("pk", "goal", "created_at")
        if run[1]
    ]


def _affected_run(
    delta: PlaybookDelta, vector: Vector, run_id: uuid.UUID, goal: str, at: datetime
) -> AffectedRun:
    found = question_focus.find_focus(goal)
    # The embedding of the goal is cached, because the next card needs it again.
    task = active_model.embed_query(found.words if found else goal)
    similarity = sum(a * b for a, b in zip(vector, task, strict=True))
    is_given = relevance.passes_gate(delta.content, similarity)
    return AffectedRun(run_id, goal, at, similarity, is_given)
