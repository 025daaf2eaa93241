"""Find entries to merge or retire: near-duplicates and refuted rules.

This module only proposes. Unless the policy is auto, a merge waits for a person. If a
person kept a pair apart, the pair is proposed again only after one of the two texts
changes.
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from django.db.models import F
from django.utils import timezone

from common.caller import SYSTEM, Caller
from common.text import plain_text as texts
from inference.embedding import active_model
from inference.embedding.vector import Vector
from jobs import queue, runner
from jobs.models import Job
from playbook.entries import matches, neighbours
from playbook.entries.neighbours import Neighbour
from playbook.history import votes
from playbook.learning import learn
from playbook.models import (
    EntryVector,
    Playbook,
    PlaybookChange,
    PlaybookDelta,
    PlaybookEntry,
)
from playbook.proposals import submission
from playbook.proposals.proposed_change import Operation, Producer, Proposal
from playbook.queries import EntryQuerySet
from projects.models import Project

KIND = "tidy_playbook"
NAME, VERSION = "tidying", "1"
INTERVAL = timedelta(days=1)
CHUNK = 100  # number of vectors in memory at a time


def propose_cleanup(
    project: Project, caller: Caller, *, since: int = 0
) -> Iterator[list[PlaybookDelta]]:
    """Propose merges and retirements, and yield the new deltas of each entry.

    Only entries that changed after the revision `since` are compared. Each of these
    entries is compared with all other entries.
    """
    for proposal in _find_proposals(project, since):
        if proposal is None or _is_known(proposal):
            yield []
        else:
            yield submission.propose(project, [proposal], caller)


def _find_proposals(project: Project, since: int) -> Iterator[Proposal | None]:
    """Yield a proposal, or None, for each entry."""
    rows = _changed_entries(project, since)
    yield from (learn.retirement_proposal(entry) for entry in _refuted_entries(rows))
    busy_entries = _entries_in_waiting_merges(project)
    vectors = EntryVector.objects.filter(
        project_id=project.pk,
        model=active_model.get().name,
        chunk=0,
        entry__in=rows,
    ).order_by("entry_id")
    for stored in vectors.iterator(chunk_size=CHUNK):
        merge = _find_merge(project, stored.entry_id, stored.vector, busy_entries)
        if merge and merge.entry:
            busy_entries |= {merge.entry.pk, *(_id(target) for target in merge.targets)}
        yield merge


def _changed_entries(project: Project, since: int) -> EntryQuerySet:
    rows: EntryQuerySet = PlaybookEntry.objects.current().filter(project=project)
    if not since:
        return rows
    later = PlaybookChange.objects.filter(project_id=project.pk, revision__gt=since)
    return rows.filter(pk__in=later.order_by().values("entry_id"))


def _refuted_entries(rows: EntryQuerySet) -> Iterator[PlaybookEntry]:
    harmful_entries = rows.light().filter(
        harmful__gte=F("helpful") + votes.HARMFUL_LEAD
    )
    return (
        entry for entry in harmful_entries.order_by("pk") if votes.is_refuted(entry)
    )


def _entries_in_waiting_merges(project: Project) -> set[uuid.UUID]:
    """Return the entries of waiting merges.

    An entry gets only one proposal at a time.
    """
    rows = PlaybookDelta.objects.filter(project=project, operation=Operation.MERGE)
    waiting = rows.pending().values_list("entry_id", "targets")
    return {
        pk
        for kept_entry, targets in waiting
        for pk in (kept_entry, *map(_id, targets))
        if pk
    }


def _id(target: Any) -> uuid.UUID:
    return uuid.UUID(str(target["id"]))


def _find_merge(
    project: Project, entry_id: uuid.UUID, vector: Vector, busy_entries: set[uuid.UUID]
) -> Proposal | None:
    """Return a new merge of an entry with the nearest entry that says the same.

    Return None if no such merge is found.
    """
    if entry_id in busy_entries:
        return None
    near = neighbours.find_nearest(
        project.pk, vector, threshold=neighbours.MERGE_COSINE, without=[entry_id]
    )
    if not near:
        return None
    entry = PlaybookEntry.objects.current().light().filter(pk=entry_id).first()
    for other in near:
        if entry is None or other.entry.pk in busy_entries:
            continue
        match = matches.compare(
            entry.content, other, condition=entry.condition, action=entry.action
        )
        if match.verdict != "same":
            continue
        merge = _merge_proposal(entry, other)
        if not _is_known(merge) and not _person_kept_both(entry, other.entry):
            return merge
    return None


def _merge_proposal(entry: PlaybookEntry, near: Neighbour) -> Proposal:
    """Propose a merge.

    The merge keeps the entry of a person if possible, then the entry that was used
    more, then the older entry.
    """
    kept_entry, other = sorted(
        (entry, near.entry),
        key=lambda one: (not one.is_protected, not one.pinned, -one.uses, one.pk),
    )
    return Proposal(
        operation=Operation.MERGE,
        entry=kept_entry,
        expected_version=kept_entry.version,
        targets=({"id": str(other.pk), "version": other.version},),
        reason=f"{kept_entry.label} and {other.label} say the same "
        f"(cosine {near.similarity}).",
        producer=Producer.RULE,
        producer_name=NAME,
        producer_version=VERSION,
        idempotency_key=pair_key(kept_entry, other),
    )


def pair_key(one: PlaybookEntry, other: PlaybookEntry) -> str:
    """Return a key for two texts, so that people are not asked twice about the same pair."""
    sides = sorted(f"{entry.pk} {entry.similarity_hash}" for entry in (one, other))
    whole = "\n".join([Operation.MERGE, *sides])
    return hashlib.sha256(whole.encode()).hexdigest()


def _is_known(proposal: Proposal) -> bool:
    rows = PlaybookDelta.objects.filter(idempotency_key=proposal.idempotency_key)
    return rows.exists()


def _person_kept_both(one: PlaybookEntry, other: PlaybookEntry) -> bool:
    """Whether a person accepted one text despite the other, and neither text changed since."""
    accepted = PlaybookDelta.objects.filter(
        operation=Operation.ADD, status__in=("accepted", "edited")
    )
    return any(
        texts.similarity_hash(delta.content) == new.similarity_hash
        for new, old in ((one, other), (other, one))
        for delta in accepted.filter(
            entry_id=new.pk,
            payload__near__entry_id=str(old.pk),
            payload__near__similarity_hash=old.similarity_hash,
        )
    )


# The daily job


def enqueue_due() -> None:
    """Enqueue a job for each project whose playbook changed since the project's last job.

    The function is called more often than `INTERVAL`, so that a restart of beat causes
    no long delay.
    """
    recent = Job.objects.filter(kind=KIND, created_at__gte=timezone.now() - INTERVAL)
    projects = Project.objects.live().exclude(pk__in=recent.values("project_id"))
    for playbook in Playbook.objects.filter(project__in=projects):
        since = _last_revision(playbook.project_id)
        if playbook.revision > since:
            queue.enqueue(
                KIND,
                project_id=playbook.project_id,
                args={"since": since},
                key=str(playbook.project_id),
            )


def _last_revision(project_id: uuid.UUID) -> int:
    """Return the revision that the last finished job read."""
    done = Job.objects.filter(kind=KIND, project_id=project_id, state=Job.State.DONE)
    last = done.order_by("-pk").first()
    return int(last.result["revision"]) if last else 0


@runner.handler(KIND, attempts=5, silence=timedelta(minutes=5))
def run_cleanup(run: runner.JobRun) -> dict[str, int]:
    """Run `propose_cleanup` as a job.

    Proposals that already exist are skipped.
    """
    assert run.job.project_id
    project = Project.objects.get(pk=run.job.project_id)
    revision = Playbook.objects.get(project=project).revision
    proposed = 0
    steps = propose_cleanup(project, SYSTEM, since=run.job.args["since"])
    for done, deltas in enumerate(steps, start=1):
        proposed += len(deltas)
        run.step(done)
    return {"revision": revision, "proposed": proposed}
