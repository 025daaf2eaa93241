"""Propose to merge rules that are near, and to retire rules that nobody needs: once a week.

A person decides, unless the policy is auto and the two rules have the same words. If a person
kept a pair apart, it is proposed again only after one of the two texts changes.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from django.db.models import Exists, F, OuterRef, Q
from django.utils import timezone

from common.caller import SYSTEM, Caller
from common.text import same_text
from inference.embedding import active_model
from inference.embedding.vector import Vector
from jobs import queue, runner
from jobs.models import Job
from playbook.entries import matches, neighbours
from playbook.entries.neighbours import Neighbour
from playbook.history import votes
from playbook.lessons import candidates, expiry, gates, intake, learn
from playbook.lessons import draft as drafts
from playbook.lessons.draft import Operation, Producer
from playbook.models import (
    EntryVector,
    Exposure,
    Playbook,
    PlaybookDelta,
    PlaybookEntry,
)
from playbook.queries import EntryQuerySet
from playbook.reading.relevance import RULE_GATE
from playbook.rule_text.applicability import ALWAYS
from projects.models import Project

KIND = "tidy_playbook"
NAME, VERSION = "tidying", "2"
INTERVAL = timedelta(days=7)
UNUSED = timedelta(days=90)
CHUNK = 100  # number of vectors in memory at a time


def propose_cleanup(project: Project, caller: Caller) -> Iterator[list[PlaybookDelta]]:
    """Propose merges and retirements, and yield the new deltas of each entry."""
    for change in _find_changes(project):
        yield intake.submit(project, [change] if change else [], caller)


def _find_changes(project: Project) -> Iterator[PlaybookDelta | None]:
    """Yield a change, or None, for each entry."""
    rows: EntryQuerySet = PlaybookEntry.objects.current().filter(project=project)
    retirements = [*map(learn.retirement, _refuted(rows)), *_unused(project, rows)]
    yield from (each for each in retirements if not _is_known(each))
    busy_entries = _entries_in_waiting_merges(project)
    vectors = EntryVector.objects.filter(
        project_id=project.pk,
        model=active_model.get().name,
        chunk=0,
        entry__in=rows,
    ).order_by("entry_id")
    for stored in vectors.iterator(chunk_size=CHUNK):
        merge = _find_merge(project, stored.entry_id, stored.vector, busy_entries)
        if merge and merge.entry_id:
            busy_entries |= {merge.entry_id, *map(_id, merge.targets)}
        yield merge


def _refuted(rows: EntryQuerySet) -> Iterator[PlaybookEntry]:
    harmful = rows.light().filter(harmful__gte=F("helpful") + votes.HARMFUL_LEAD)
    return (entry for entry in harmful.order_by("pk") if votes.is_refuted(entry))


def _unused(project: Project, rows: EntryQuerySet) -> Iterator[PlaybookDelta]:
    """Propose to retire rules that nobody was given, or that matched no task, for long.

    They are never more than the limit of removals, and none where no agent asked at all.
    """
    since = timezone.now() - UNUSED
    given = Exposure.objects.given().filter(project=project, at__gte=since)
    if not given.exists():
        return
    waiting = PlaybookDelta.objects.pending().filter(
        project=project, operation=Operation.DEPRECATE
    )
    room = int(rows.count() * gates.MAX_REMOVED) - waiting.count()
    of_entry = given.filter(entry=OuterRef("pk")).order_by()
    matched = of_entry.filter(
        Q(was_cited=True) | ~Q(used_as="") | Q(relevance__gte=RULE_GATE)
    )
    is_for_all = Q(applies_to__contains=[ALWAYS])
    unused = rows.light().filter(
        ~Exists(matched) & ~(is_for_all & Exists(of_entry)),
        pinned=False,
        updated_at__lt=since,
    )
    unused = unused.exclude(verified_at__gte=since).order_by("updated_at", "pk")
    for entry in unused[: max(room, 0)]:
        yield drafts.change(
            Operation.DEPRECATE,
            entry=entry,
            expected_version=entry.version,
            reason=f"No agent was given {entry.label} for a task that it fits in "
            f"{UNUSED.days} days.",
            producer=Producer.RULE,
            producer_name=NAME,
            producer_version=VERSION,
            idempotency_key=drafts.key(
                NAME, entry.pk, entry.version, entry.verified_at
            ),
        )


def _entries_in_waiting_merges(project: Project) -> set[uuid.UUID]:
    """Return the entries of waiting merges: each gets only one proposal at a time."""
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
) -> PlaybookDelta | None:
    """Return a new merge of an entry with the nearest entry that may say the same."""
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
        match = matches.compare(entry.content, other)
        if match.verdict == "new" or match.names_others:
            continue
        merge = _merge(entry, other)
        if not _is_known(merge) and not _person_kept_both(entry, other.entry):
            return merge
    return None


def _merge(entry: PlaybookEntry, near: Neighbour) -> PlaybookDelta:
    """Propose a merge.

    The merge keeps the entry of a person if possible, then the entry that was used
    more, then the older entry.
    """
    kept_entry, other = sorted(
        (entry, near.entry),
        key=lambda one: (not one.is_protected, not one.pinned, -one.uses, one.pk),
    )
    sides = sorted(f"{one.pk} {one.similarity_hash}" for one in (kept_entry, other))
    is_same = same_text.is_same(kept_entry.content, other.content)
    says = "say the same" if is_same else "may say the same, or the opposite"
    return drafts.change(
        Operation.MERGE,
        entry=kept_entry,
        expected_version=kept_entry.version,
        targets=[{"id": str(other.pk), "version": other.version}],
        reason=f"{kept_entry.label} and {other.label} {says} (cosine {near.similarity}).",
        producer=Producer.RULE,
        producer_name=NAME,
        producer_version=VERSION,
        idempotency_key=drafts.key(Operation.MERGE, *sides),
    )


def _is_known(change: PlaybookDelta) -> bool:
    rows = PlaybookDelta.objects.filter(idempotency_key=change.idempotency_key)
    return rows.exists()


def _person_kept_both(one: PlaybookEntry, other: PlaybookEntry) -> bool:
    """Whether a person accepted one text despite the other, and neither text changed since."""
    accepted = PlaybookDelta.objects.filter(
        operation=Operation.ADD, status__in=("accepted", "edited")
    )
    return any(
        same_text.hash_text(delta.content) == new.similarity_hash
        for new, old in ((one, other), (other, one))
        for delta in accepted.filter(
            entry_id=new.pk,
            payload__near__entry_id=str(old.pk),
            payload__near__similarity_hash=old.similarity_hash,
        )
    )


# The weekly job


def enqueue_due() -> None:
    """Enqueue a job for each project whose last job is a week ago.

    The function is called more often than `INTERVAL`, so that a restart of beat causes
    no long delay.
    """
    recent = Job.objects.filter(kind=KIND, created_at__gte=timezone.now() - INTERVAL)
    projects = Project.objects.live().exclude(pk__in=recent.values("project_id"))
    for playbook in Playbook.objects.filter(project__in=projects, revision__gt=0):
        queue.enqueue(
            KIND, project_id=playbook.project_id, key=str(playbook.project_id)
        )


@runner.handler(KIND, attempts=5, silence=timedelta(minutes=5))
def run_cleanup(run: runner.JobRun) -> dict[str, int]:
    """Run `propose_cleanup` as a job; proposals that already exist are skipped."""
    assert run.job.project_id
    project = Project.objects.get(pk=run.job.project_id)
    proposed = len(expiry.doubt_ended(project, (), SYSTEM))
    for done, deltas in enumerate(propose_cleanup(project, SYSTEM), start=1):
        proposed += len(deltas)
        run.step(done)
    return {"proposed": proposed, "pruned": candidates.prune(project)}
