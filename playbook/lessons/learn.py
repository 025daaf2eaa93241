"""Learn from an occasion: count its votes, take its lessons, retire or doubt what it harmed."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Q

from common.caller import Caller
from playbook.history import votes as voting
from playbook.history.revision import Cause
from playbook.history.votes import Vote
from playbook.lessons import doubt, intake, taught
from playbook.lessons import draft as drafts
from playbook.lessons.doubt import DoubtKind
from playbook.lessons.draft import Draft, Operation, Producer
from playbook.lessons.lesson import Occasion, TaughtLesson
from playbook.models import PlaybookChange, PlaybookDelta, PlaybookEntry
from projects.models import Project

NAME, VERSION = "curator", "1"


@dataclass(frozen=True)
class LearningOutcome:
    """The deltas and changes of the occasion in order, and the entries that were changed."""

    deltas: list[PlaybookDelta]
    changes: list[PlaybookChange]
    updated_entries: list[PlaybookEntry]


def learn(
    project: Project,
    lessons: Sequence[TaughtLesson],
    votes: Sequence[Vote],
    supported: Iterable[uuid.UUID],
    occasion: Occasion,
    caller: Caller,
) -> LearningOutcome:
    """Count votes and supports, take lessons, and retire or doubt entries that were harmful.

    A repeated call for the same occasion changes nothing more and returns the same result.
    """
    cause = Cause(
        reason="The run shows how the entry served.",
        run_id=occasion.run_id,
        memory_id=occasion.memory_id,
        agent_id=occasion.agent_id,
    )
    voting.record(
        project,
        votes,
        supported,
        cause,
        caller,
        is_believed=taught.is_believed(project, occasion, caller),
    )
    deltas = [
        *intake.take(project, lessons, occasion, caller),
        *_refute(project, occasion, caller),
    ]
    return _outcome(project, deltas, occasion)


def _outcome(
    project: Project, deltas: Sequence[PlaybookDelta], occasion: Occasion
) -> LearningOutcome:
    ids = [delta.pk for delta in deltas]
    of_run = Q(run_id=occasion.run_id) if occasion.run_id else Q(pk__in=[])
    rows = PlaybookDelta.objects.filter(Q(pk__in=ids) | of_run, project=project)
    changes = PlaybookChange.objects.filter(
        Q(delta_id__in=ids) | of_run, project_id=project.pk
    )
    changed = PlaybookEntry.objects.light().filter(
        pk__in=changes.order_by().values("entry_id")
    )
    return LearningOutcome(
        deltas=list(rows.with_entry().order_by("pk")),
        changes=list(changes.in_order()),
        updated_entries=list(changed.order_by("pk")),
    )


def _refute(
    project: Project, occasion: Occasion, caller: Caller
) -> list[PlaybookDelta]:
    """Propose to retire entries that the votes refute, and doubt those that they contest.

    A person's correction puts an entry in doubt however often it has helped.
    """
    entries = _harmed_entries(project, occasion)
    refuted = [entry for entry in entries if voting.is_refuted(entry)]
    of_occasion = {
        "agent_id": occasion.agent_id,
        "run_id": occasion.run_id,
        "memory_id": occasion.memory_id,
    }
    is_believed = taught.is_believed(project, occasion, caller)
    retirements = [
        Draft(retirement(entry, **of_occasion), is_believed=is_believed)
        for entry in refuted
    ]
    deltas = intake.file(intake.prepare(project, retirements, caller))
    if not caller.attests_in(project.pk):
        return deltas
    is_corrected = occasion.feedback_source == "human"
    doubts = [
        doubt.retirement(
            entry,
            reason=f"A task that cited {entry.label} failed, told by "
            f"{occasion.feedback_source}, on what the entry is about; it was harmful "
            f"{entry.harmful} times and helpful {entry.helpful} times.",
            evidence=str(occasion.run_id or occasion.id),
            **of_occasion,
        )
        for entry in entries
        if entry not in refuted and (is_corrected or entry.is_doubted)
    ]
    kind = DoubtKind.CORRECTION if is_corrected else DoubtKind.VOTES
    return [*deltas, *doubt.raise_doubts(project, kind, doubts, caller)]


def _harmed_entries(project: Project, occasion: Occasion) -> list[PlaybookEntry]:
    """Return the live entries that a vote of this run calls harmful."""
    if occasion.run_id is None:
        return []
    harmful = PlaybookChange.objects.filter(
        project_id=project.pk,
        run_id=occasion.run_id,
        action="vote",
        after__has_key="harmful",
    )
    entries = PlaybookEntry.objects.current().light()
    harmed = entries.filter(pk__in=harmful.order_by().values("entry_id"))
    return list(harmed.order_by("pk"))


def retirement(entry: PlaybookEntry, **columns: Any) -> PlaybookDelta:
    """Return a proposal to retire an entry because votes refute this version of it."""
    return drafts.change(
        Operation.DEPRECATE,
        entry=entry,
        expected_version=entry.version,
        reason=f"{entry.label} was harmful {entry.harmful} times and helpful "
        f"{entry.helpful} times in {entry.uses} uses.",
        producer=Producer.RULE,
        producer_name=NAME,
        producer_version=VERSION,
        idempotency_key=drafts.key(entry.pk, Operation.DEPRECATE, entry.version),
        **columns,
    )
