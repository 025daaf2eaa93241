"""Lessons that agents write about an observation of a finished task.

The text is the agent's; what it may rest on is the observation's evidence and nothing else.
This app does not know tasks, so the app that stores observations registers how one is found.
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import Q, QuerySet

from common import errors
from common.caller import Caller
from common.db import write
from playbook.history.revision import lock_playbook
from playbook.models import PlaybookDelta
from playbook.proposals import submission
from playbook.proposals.proposed_change import (
    OBSERVED_SIGNATURE,
    WRITES_TEXT,
    Proposal,
    Quote,
)
from playbook.proposals.submission import PreparedProposals
from projects.models import Project


class ObservationHasLesson(errors.StateConflict):
    """This observation has its lesson already; a person decides about it."""

    code = "observation_has_lesson"


@dataclass(frozen=True)
class ObservedEvidence:
    """An observation of a run, with the quotes and the texts that they are cut from.

    `foreign` and `supply` are those of a Proposal with this text.
    """

    signature: str
    root_cause: str
    run_id: uuid.UUID
    memory_id: uuid.UUID | None
    outcome: str
    evidence: tuple[Quote, ...]
    sources: Mapping[str, str]
    foreign: str = ""
    supply: str = ""


# What is gated of a lesson, on a line each.
TEXTS = ("content", "condition", "action")
# Take the project, the id, the text of the lesson and the caller. Raise NotFound if the caller
# sees no such observation.
Finder = Callable[[Project, uuid.UUID, str, Caller], ObservedEvidence]
_finders: list[Finder] = []


def register(finder: Finder) -> Finder:
    """Register how an observation is found; the last registration counts."""
    _finders.append(finder)
    return finder


def proposal_fields(
    project: Project, observation_id: uuid.UUID, text: str, caller: Caller
) -> dict[str, Any]:
    """Return the fields of the Proposal with this text about an observation."""
    found = _finders[-1](project, observation_id, text, caller)
    whole = f"{observation_id}\n{text}"
    return {
        "signature": f"{OBSERVED_SIGNATURE}{found.signature}",
        "root_cause": found.root_cause,
        "run_id": found.run_id,
        "memory_id": found.memory_id,
        "outcome": found.outcome,
        "evidence": found.evidence,
        "sources": found.sources,
        "foreign": found.foreign,
        "supply": found.supply,
        "idempotency_key": hashlib.sha256(whole.encode()).hexdigest(),
    }


@write
def submit(prepared: PreparedProposals) -> list[PlaybookDelta]:
    """Submit lessons about observations.

    Raise ObservationHasLesson if an observation has a lesson with another text.
    """
    lock_playbook(prepared.project)
    for item in prepared.items:
        _refuse_second(item.original)
    return submission.submit(prepared)


def _refuse_second(proposal: Proposal) -> None:
    rows = _answers([proposal.run_id], [proposal.signature])
    others = rows.exclude(idempotency_key=proposal.idempotency_key)
    if delta_id := others.values_list("pk", flat=True).first():
        raise ObservationHasLesson(
            f"This observation has its lesson, delta {delta_id}; a person decides about it."
        )


def find_answered(runs: Any, signatures: Iterable[str]) -> set[str]:
    """Return those of the signatures of observations of the runs that have a lesson."""
    return _signatures(_answers(runs, _names(signatures)))


def find_settled(runs: Any, signatures: Iterable[str], caller: Caller) -> set[str]:
    """Return those of the signatures about which the caller's agents need not be asked."""
    return _signatures(_answers(runs, _names(signatures)).filter(match_settled(caller)))


def match_settled(caller: Caller) -> Q:
    """Match the lessons that settle an observation for the caller.

    A lesson that waits or was rejected, or that is only a vote, settles it for the person
    who wrote it: one key could otherwise silence the question for everybody.
    """
    wrote_entry = Q(
        operation__in=WRITES_TEXT,
        status__in=[*PlaybookDelta.IN_FORCE, PlaybookDelta.DeltaStatus.REVERTED],
    )
    return wrote_entry | Q(person__in=caller.own_names)


def _names(signatures: Iterable[str]) -> list[str]:
    return [f"{OBSERVED_SIGNATURE}{each}" for each in signatures]


def _signatures(deltas: QuerySet[PlaybookDelta]) -> set[str]:
    found = deltas.values_list("payload__signature", flat=True)
    return {str(name).removeprefix(OBSERVED_SIGNATURE) for name in found}


def _answers(runs: Any, names: Iterable[str]) -> QuerySet[PlaybookDelta]:
    """Select the lessons that wait, are in force, or that a person or a repeat settled.

    What a gate refused leaves the observation open for a better text.
    """
    is_refused = Q(status=PlaybookDelta.DeltaStatus.REJECTED, reviewer="")
    rows: QuerySet[PlaybookDelta] = PlaybookDelta.objects.filter(
        ~is_refused | Q(payload__has_key="repeats"),
        run_id__in=runs,
        payload__signature__in=list(names),
    )
    return rows
