"""Learn what people had to ask for in more than one session, whatever their words."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.db.models import Q

from ace.models import AceRun, Observation
from ace.reflect.by_rules import RuleFindings
from ace.repairs import record
from ace.rules import evidence as spans
from ace.rules.evidence import Evidence
from ace.rules.feedback import wishes
from ace.rules.feedback.wishes import Wish
from ace.rules.task import Task
from ace.rules.task_lesson import TaskLesson, is_sound
from common.db import write
from inference.embedding.vector import Vector
from memories.queries import as_visible_as
from playbook.entries import neighbours
from playbook.history import revision
from playbook.models import PlaybookDelta
from playbook.proposals.proposed_change import WISH_SIGNATURE

CAUSE = "WISH"
CONFIDENCE = 0.6
# Two requests with a lower cosine mean something else; they also need an object in common.
# Read on 140 sessions: from 0.75 on, all but a few pairs ask for the same.
SAME_WISH = 0.75
# Requests that are looked at, the newest first, and of them those that are embedded: so many
# with a lesson, and so many without.
MAX_KNOWN, MAX_COMPARED = 300, 12


@dataclass(frozen=True)
class KnownWish:
    """A wish of an earlier run. `has_lesson` says whether this run proposed it as a lesson."""

    run_id: uuid.UUID
    command: str
    objects: frozenset[str]
    has_lesson: bool = False


def learn(run: AceRun, task: Task, findings: RuleFindings) -> RuleFindings:
    """Store the wishes of the run; add a lesson for each that another session had before.

    A wish that has its lesson gets no second one, whatever became of the first.
    """
    asked = wishes.find(task)
    if not asked:
        return findings
    _store(run, task, asked)
    found = []
    for wish, earlier in _matches(asked, _earlier_wishes(run, asked)):
        span = _span_of(task, wish)
        if is_sound(wish.content, [spans.quote(task, span)]):
            found.append(_lesson(wish, span, earlier))
    if not found:
        return findings
    return replace(findings, lessons=[*findings.lessons, *found], abstention="")


def _span_of(task: Task, wish: Wish) -> Evidence:
    quote = task.text(wish.field)[wish.start : wish.end]
    return spans.make("wish", wish.field, wish.start, wish.end, quote)


def _lesson(wish: Wish, span: Evidence, earlier: KnownWish) -> TaskLesson:
    return TaskLesson(
        condition="",
        action=wish.content.split(":", 1)[0],
        content=wish.content,
        category="best_practices",
        root_cause="PREFERENCE",
        evidence=(span,),
        signature=_signature(wish),
        confidence=CONFIDENCE,
        # Without the words of that run, which a purge of its memory could not find here.
        reason=f"Run {earlier.run_id} had it before.",
    )


@write
def _store(run: AceRun, task: Task, asked: Sequence[Wish]) -> None:
    # Only one run writes at a time, so the ids are in the order of the runs.
    revision.lock_playbook(run.project)
    session = _session_of(run)
    rows = [
        Observation(
            project=run.project,
            run=run,
            signature=hashlib.sha256(
                f"wish|{wish.command}".encode(errors="surrogatepass")
            ).hexdigest(),
            root_cause=CAUSE,
            seen={
                "condition": "",
                "observed": wish.command,
                "cause": CAUSE,
                **spans.locate(task, _span_of(task, wish)),
                "session": session,
            },
        )
        for wish in asked
    ]
    Observation.objects.bulk_create(rows, ignore_conflicts=True)


def _session_of(run: AceRun) -> str:
    return record.digest(record.session_of(run))


def _earlier_wishes(run: AceRun, asked: Sequence[Wish]) -> list[KnownWish]:
    """Return the wishes of earlier runs of other sessions that have an object in common."""
    own = Observation.objects.filter(run=run, root_cause=CAUSE).order_by("pk").first()
    assert own  # stored by this call, or by an earlier call for the same run
    rows = Observation.objects.filter(
        ~Q(seen__session=_session_of(run)),
        as_visible_as(run.memory, "run__memory_id"),
        project=run.project,
        root_cause=CAUSE,
        pk__lt=own.pk,
    )
    objects = frozenset().union(*(wish.objects for wish in asked))
    newest = rows.order_by("-pk").values_list("run_id", "seen")[:MAX_KNOWN]
    known = [_known_wish(run_id, seen) for run_id, seen in newest]
    related = _mark_lessons(run, [wish for wish in known if wish.objects & objects])
    with_lesson = [wish for wish in related if wish.has_lesson]
    without = [wish for wish in related if not wish.has_lesson]
    return [*with_lesson[:MAX_COMPARED], *without[:MAX_COMPARED]]


def _known_wish(run_id: uuid.UUID, seen: Mapping[str, Any]) -> KnownWish:
    command = str(seen["observed"])
    return KnownWish(run_id, command, wishes.objects_of(command))


def _mark_lessons(run: AceRun, known: Sequence[KnownWish]) -> list[KnownWish]:
    """Return the wishes, each with whether a proposal says that it is a lesson."""
    deltas = PlaybookDelta.objects.filter(
        project=run.project,
        run_id__in={wish.run_id for wish in known},
        payload__signature__startswith=WISH_SIGNATURE,
    )
    proposed = set(deltas.values_list("run_id", "payload__signature"))
    return [
        replace(wish, has_lesson=(wish.run_id, _signature(wish)) in proposed)
        for wish in known
    ]


def _signature(wish: Wish | KnownWish) -> str:
    return f"{WISH_SIGNATURE}{wish.command}"


def _matches(
    asked: Sequence[Wish], known: Sequence[KnownWish]
) -> Iterator[tuple[Wish, KnownWish]]:
    """Yield each wish with the earlier wish that is nearest, if none like it has a lesson."""
    texts = [*(wish.command for wish in asked), *(wish.command for wish in known)]
    vectors = neighbours.embed_texts(texts) if known else None
    if not vectors:
        return
    own, others = vectors[: len(asked)], vectors[len(asked) :]
    for wish, vector in zip(asked, own, strict=True):
        same = [
            (one, cosine)
            for one, at in zip(known, others, strict=True)
            if one.objects & wish.objects
            and (cosine := _cosine(vector, at)) >= SAME_WISH
        ]
        if same and not any(one.has_lesson for one, _ in same):
            yield wish, max(same, key=lambda each: each[1])[0]


def _cosine(one: Vector, other: Vector) -> float:
    """Return the cosine of two vectors of length 1."""
    return sum(a * b for a, b in zip(one, other, strict=True))
