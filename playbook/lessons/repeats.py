"""Recognize a lesson that waits already, or that people rejected or retired before.

The inbox shows a lesson once. A rejected lesson returns to the inbox after it recurs
`REPEATS_TO_RETURN` times. What two independent people show is applied.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator
from dataclasses import replace

from django.db import transaction
from django.db.models import F, Q

from access.models import ApiKey
from audit import trail
from common import errors
from common.caller import Caller
from common.text import same_text
from memories.models import Memory
from memories.queries import as_visible_as
from playbook import delta_vectors
from playbook.delta_vectors import KNOWN_LESSONS, LESSON_OPERATIONS
from playbook.entries import matches
from playbook.entries.neighbours import MAX_NEIGHBOURS, MERGE_COSINE
from playbook.history import operations, votes
from playbook.history.revision import Cause
from playbook.lessons.draft import Draft
from playbook.lessons.policy import Decision
from playbook.models import Playbook, PlaybookDelta
from search import semantic

Status = PlaybookDelta.DeltaStatus
# Repeats after which a rejected lesson returns to the inbox.
REPEATS_TO_RETURN = 5
_NUMBER = re.compile(r"\d+")


def reconsider(draft: Draft, decision: Decision, caller: Caller) -> Decision:
    """Change the decision about a lesson that recurs; other decisions stay.

    The caller holds the playbook's lock, so that each recurrence is counted once.
    """
    if not draft.is_lesson or decision.status == Status.REJECTED:
        return decision
    known = list(_known_lessons(draft))
    same = [each for each in known if _is_same(each, draft.delta)]
    rejected = next((d for d in same if d.status == Status.REJECTED), None)
    waiting = next((d for d in same if d.status == Status.PENDING), None)
    held = _hold(draft, decision, known)
    may_confirm = rejected is None and held.needs_witness
    if may_confirm and waiting and _is_witnessed(waiting, caller):
        note = f"It confirms delta {waiting.pk}, which shows the same fix."
        return replace(_repeat(waiting, decision, note), confirms=waiting.pk)
    if held.status == Status.PENDING and waiting and _occasion(draft.delta):
        _count(waiting, draft.delta)
        serve_too(waiting, decision)
        note = f"The same lesson waits already, as delta {waiting.pk}."
        return _repeat(waiting, decision, note)
    return _decide_repeat(rejected, draft.delta, held) if rejected else held


def _is_same(known: PlaybookDelta, delta: PlaybookDelta) -> bool:
    """Whether both say the same; of two fixes of one failure, numbers may differ."""
    texts = known.content, delta.content
    failure = delta.payload.get("failure")
    if failure and failure == known.payload.get("failure"):
        texts = _NUMBER.sub("0", known.content), _NUMBER.sub("0", delta.content)
    return same_text.is_same(*texts)


def _repeat(earlier: PlaybookDelta, decision: Decision, note: str) -> Decision:
    return replace(
        decision, status=Status.REJECTED, reason=note, served=(), repeats=earlier.pk
    )


def _known_lessons(draft: Draft) -> Iterator[PlaybookDelta]:
    """Yield lessons that wait or that a person rejected: copies, then near ones.

    Only those that the readers of this one see, as its decision names them.
    """
    delta = draft.delta
    rows = PlaybookDelta.objects.filter(
        KNOWN_LESSONS,
        readers_of(delta),
        project=delta.project,
        operation__in=LESSON_OPERATIONS,
    )
    yield from rows.filter(similarity_hash=delta.similarity_hash).order_by("-pk")
    if draft.vector:
        lane = semantic.exact_cosines(rows, draft.vector)
        near = [pk for pk, cosine in lane.items() if cosine >= MERGE_COSINE]
        found = PlaybookDelta.objects.in_bulk(near[:MAX_NEIGHBOURS])
        yield from (found[pk] for pk in near[:MAX_NEIGHBOURS])


def readers_of(delta: PlaybookDelta) -> Q:
    """Select the rows whose memory is visible to everybody who may read a lesson."""
    scopes = Memory.objects.only("scope_kind", "scope_key", "scope_user")
    memory = scopes.filter(pk=delta.memory_id).first() if delta.memory_id else None
    return as_visible_as(memory, "memory_id")


def _hold(draft: Draft, decision: Decision, known: list[PlaybookDelta]) -> Decision:
    """Let a lesson wait that a person retired, or that is near one that a person rejected."""
    delta = draft.delta
    if decision.status != Status.APPLIED and not decision.needs_witness:
        return decision
    retired = matches.find_retired(delta.project_id, delta.content, draft.vector)
    rejected = next((d for d in known if d.status == Status.REJECTED), None)
    if retired:
        note = (
            f"{retired.label} said this, or nearly this, and is {retired.status}; restore "
            "it, or reject this."
        )
    elif rejected:
        note = f"A person rejected a lesson that is near, as delta {rejected.pk}."
    else:
        return decision
    return replace(
        decision, status=Status.PENDING, reason=note, served=(), needs_witness=False
    )


def _decide_repeat(
    first: PlaybookDelta, delta: PlaybookDelta, decision: Decision
) -> Decision:
    if _count(first, delta) < REPEATS_TO_RETURN:
        note = f"A person rejected this before, as delta {first.pk}."
        return _repeat(first, decision, note)
    PlaybookDelta.objects.filter(pk=first.pk).update(seen_again=0)
    note = (
        f"A person rejected this before, as delta {first.pk}; "
        f"it recurred {REPEATS_TO_RETURN} times since."
    )
    again = _repeat(first, decision, note)
    return replace(again, status=Status.PENDING)


def _occasion(delta: PlaybookDelta) -> dict[str, object]:
    """Return the columns that say in which task or session a lesson was taught."""
    if delta.run_id:
        return {"run_id": delta.run_id}
    return {"session": delta.session} if delta.session else {}


def _count(first: PlaybookDelta, delta: PlaybookDelta) -> int:
    """Count a recurrence at most once a task or session, and return the new count."""
    same = PlaybookDelta.objects.filter(payload__repeats=str(first.pk))
    occasion = _occasion(delta)
    if occasion and same.filter(**occasion).exists():
        return first.seen_again
    rows = PlaybookDelta.objects.filter(pk=first.pk)
    rows.update(seen_again=F("seen_again") + 1)
    return first.seen_again + 1


def serve_too(waiting: PlaybookDelta, decision: Decision) -> None:
    """Give a waiting lesson to the agents of a second person who says the same."""
    persons = list(dict.fromkeys([*waiting.served_persons, *decision.served]))
    if persons != waiting.served_persons:
        PlaybookDelta.objects.filter(pk=waiting.pk).update(served_persons=persons)


# A second person who shows the same fix


def _is_witnessed(waiting: PlaybookDelta, caller: Caller) -> bool:
    """Whether the caller is independent of whoever told a waiting fix that passed its gates."""
    line = ApiKey.objects.of_same_line(caller.key_id).values_list("pk", flat=True)
    is_own = waiting.person in {"", *caller.own_names} or waiting.key_id in set(line)
    passes = all(gate["verdict"] == "pass" for gate in waiting.gates)
    return waiting.kind == "fix" and passes and not is_own


def confirm(
    playbook: Playbook, waiting_id: uuid.UUID, second: PlaybookDelta, caller: Caller
) -> None:
    """Apply the waiting fix; the task of the second delta is named as its witness.

    If it cannot be applied, such as for the budget, it goes on waiting for a person.
    """
    waiting = PlaybookDelta.objects.select_for_update(no_key=True).get(pk=waiting_id)
    waiting.project = playbook.project
    waiting.payload["confirmed_by"] = {
        "delta_id": str(second.pk),
        "run_id": str(second.run_id),
    }
    waiting.review_note = f"Another person showed the same fix: {second.pk}."
    vector = delta_vectors.find(waiting)
    try:
        with transaction.atomic():
            changes = operations.apply(
                playbook, waiting, caller, status=Status.APPLIED, vector=vector
            )
    except errors.Refusal as refusal:
        playbook.refresh_from_db()
        note = f"{waiting.review_note} It could not be applied: {refusal.detail}"
        PlaybookDelta.objects.filter(pk=waiting.pk).update(review_note=note[:1000])
        return
    cause = Cause(
        reason="Another task showed the same fix.",
        run_id=second.run_id,
        memory_id=second.memory_id,
        agent_id=second.agent_id,
    )
    votes.record(playbook.project, [], [changes[0].entry_id], cause, caller)
    playbook.refresh_from_db()  # the support is a revision of its own
    trail.record(
        caller,
        "delta.confirm",
        project_id=waiting.project_id,
        object_type="playbook_delta",
        object_id=waiting.pk,
        runs=[str(waiting.run_id), str(second.run_id)],
        confirmed_by=str(second.pk),
    )
