"""Estimate the effect of a proposal.

The estimate shows the entries nearest to the proposal, who will be given the rule, the recent
tasks for which relevance picks it, and those that met the failure that it is about. The estimate
needs the embedding model, so only the open card shows it.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from django.db.models import TextField
from django.db.models.fields.json import KT
from django.db.models.functions import Left

from ace.models import AceRun, ObservedRepair
from ace.repairs import trust
from common.caller import Caller
from common.text import question_focus
from console.inbox import reach
from console.inbox.proposal_cards import ProposalCard
from console.inbox.reach import Reach
from inference.embedding import active_model
from inference.embedding.vector import Vector
from inference.errors import InferenceError
from playbook.entries import neighbours
from playbook.entries.neighbours import Neighbour
from playbook.models import PlaybookDelta
from playbook.reading import exposures, relevance
from playbook.reading.exposures import EntryUse
from playbook.review import delta_review
from playbook.rule_text import applicability

MAX_NEIGHBOURS = 3
MAX_RUNS = 10
MAX_REPAIRS = 50  # of one run
MAX_GOAL = 2_000  # only this many characters of a goal are compared


@dataclass(frozen=True)
class AffectedRun:
    """A recent run.

    `is_picked` says whether relevance picks the proposed rule for its goal; `match` says which
    tool or path made it so. `has_failure` says whether the run met the failure that the rule is
    about, and tried to cure it.
    """

    run_id: uuid.UUID
    goal: str
    at: datetime
    similarity: float
    is_picked: bool
    match: str = ""
    has_failure: bool = False


@dataclass(frozen=True)
class Nearby:
    """The estimated effect of a proposal.

    `is_of_failure` says that the proposal came of a failure whose signature is known. `note`
    says which part could not be estimated, and why.
    """

    nearest: Sequence[Neighbour] = ()
    runs: Sequence[AffectedRun] = ()
    use: EntryUse | None = None
    note: str = ""
    reach: Reach | None = None
    is_of_failure: bool = False

    @property
    def picked_runs(self) -> list[AffectedRun]:
        return [run for run in self.runs if run.is_picked]

    @property
    def failed_runs(self) -> list[AffectedRun]:
        return [run for run in self.runs if run.has_failure]


def find_nearby(card: ProposalCard, caller: Caller) -> Nearby:
    delta = card.delta
    use = exposures.count_use(delta.entry) if delta.entry else None
    if not delta.content:
        return Nearby(use=use)
    given = reach.estimate(card, caller)
    vector = delta_review.embed_text(delta, delta.content).vector
    if vector is None:
        return Nearby(use=use, reach=given, note="The embedding model did not answer.")
    nearest, signatures = _nearest_entries(delta, vector), _signatures(delta, caller)
    found = Nearby(nearest, use=use, reach=given, is_of_failure=bool(signatures))
    try:
        runs = _recent_runs(delta, vector, signatures, caller)
    except InferenceError as error:
        return replace(found, note=str(error))
    return replace(found, runs=runs)


def _signatures(delta: PlaybookDelta, caller: Caller) -> set[str]:
    """Return the signatures of the failures that the proposal is about."""
    if delta.run_id is None:
        return set()
    rows = ObservedRepair.objects.visible_to(caller).filter(run_id=delta.run_id)
    about = (r for r in rows[:MAX_REPAIRS] if trust.is_about(delta, delta.content, r))
    return {row.signature for row in about}


def _nearest_entries(delta: PlaybookDelta, vector: Vector) -> list[Neighbour]:
    own = [delta.entry_id] if delta.entry_id else []
    return neighbours.find_nearest(
        delta.project_id, vector, top=MAX_NEIGHBOURS, threshold=0.0, without=own
    )


def _recent_runs(
    delta: PlaybookDelta, vector: Vector, signatures: set[str], caller: Caller
) -> list[AffectedRun]:
    """Compare the rule with the goals and the failures of the latest runs.

    `relevance` compares a rule with a task in the same way.
    """
    goal = Left(KT("request__goal"), MAX_GOAL, output_field=TextField())
    rows = AceRun.objects.visible_to(caller).filter(project_id=delta.project_id)
    latest = rows.order_by("-pk").annotate(goal=goal)[:MAX_RUNS]
    runs = [run for run in latest.values_list("pk", "goal", "created_at") if run[1]]
    failed = _runs_with_failure([run[0] for run in runs], signatures, caller)
    return [
        replace(_measure_run(delta, vector, *run), has_failure=run[0] in failed)
        for run in runs
    ]


def _runs_with_failure(
    run_ids: Sequence[uuid.UUID], signatures: set[str], caller: Caller
) -> set[uuid.UUID]:
    if not signatures:
        return set()
    rows = ObservedRepair.objects.visible_to(caller).filter(
        run_id__in=run_ids, signature__in=signatures
    )
    return set(rows.order_by().values_list("run_id", flat=True))


def _measure_run(
    delta: PlaybookDelta, vector: Vector, run_id: uuid.UUID, goal: str, at: datetime
) -> AffectedRun:
    found = question_focus.find_focus(goal)
    # The embedding of the goal is cached, because the next card needs it again.
    task = active_model.embed_query(found.words if found else goal)
    cosine = sum(a * b for a, b in zip(vector, task, strict=True))
    similarity = active_model.scale_of(vector.model).similarity(cosine)
    around = applicability.read_surroundings(goal)
    places = reach.places_of(delta)
    measured = relevance.judge_text(delta.content, places, similarity, around)
    return AffectedRun(
        run_id, goal, at, similarity, measured.is_relevant, measured.match
    )
