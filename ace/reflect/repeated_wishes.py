"""Learn what people had to ask for in more than one session, whatever their words."""

from __future__ import annotations

import hashlib
import itertools
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from ace.models import AceRun, Observation
from ace.reflect.by_rules import RuleFindings
from ace.rules import evidence as spans
from ace.rules.feedback import wishes
from ace.rules.feedback.wishes import Wish
from ace.rules.task import Task
from ace.rules.task_lesson import TaskLesson, is_sound
from common.db import write
from inference.embedding.vector import Vector
from memories.queries import as_visible_as
from playbook.entries import neighbours
from playbook.proposals.proposed_change import WISH_SIGNATURE

CAUSE = "WISH"
CONFIDENCE = 0.6
# Two requests with a lower cosine mean something else; they also need an object in common.
# Read on 140 sessions: from 0.75 on, all but a few pairs ask for the same.
SAME_WISH = 0.75
# Requests that are looked at, the newest first, and of them those that are embedded.
MAX_KNOWN, MAX_COMPARED = 300, 12


@dataclass(frozen=True)
class KnownWish:
    """A wish of an earlier run, in the person's words."""

    run_id: uuid.UUID
    quote: str
    command: str
    objects: frozenset[str]


def learn(run: AceRun, task: Task, findings: RuleFindings) -> RuleFindings:
    """Store the wishes of the run; add a lesson for each that one earlier run had too.

    The second telling gives the lesson; a third one would only repeat it.
    """
    asked = wishes.find(task)
    if not asked:
        return findings
    _store(run, task, asked)
    found = []
    for wish, earlier in _matches(asked, list(_earlier_wishes(run, asked))):
        quote = task.text(wish.field)[wish.start : wish.end]
        if is_sound(wish.content, [quote]):
            found.append(_lesson(wish, quote, earlier))
    if not found:
        return findings
    return replace(findings, lessons=[*findings.lessons, *found], abstention="")


def _lesson(wish: Wish, quote: str, earlier: KnownWish) -> TaskLesson:
    return TaskLesson(
        condition="",
        action=wish.content.split(":", 1)[0],
        content=wish.content,
        category="best_practices",
        root_cause="PREFERENCE",
        evidence=(spans.make("wish", wish.field, wish.start, wish.end, quote),),
        signature=f"{WISH_SIGNATURE}{wish.command}",
        confidence=CONFIDENCE,
        reason=f'Run {earlier.run_id} had it before: "{earlier.quote}".',
    )


@write
def _store(run: AceRun, task: Task, asked: Sequence[Wish]) -> None:
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
                "field": wish.field,
                "start": wish.start,
                "end": wish.end,
                "quote": task.text(wish.field)[wish.start : wish.end],
            },
        )
        for wish in asked
    ]
    Observation.objects.bulk_create(rows, ignore_conflicts=True)


def _earlier_wishes(run: AceRun, asked: Sequence[Wish]) -> Iterator[KnownWish]:
    """Yield the wishes of earlier runs of other sessions that have an object in common."""
    own = Observation.objects.filter(run=run, root_cause=CAUSE).order_by("pk").first()
    assert own  # stored by this call, or by an earlier call for the same run
    rows = Observation.objects.filter(
        as_visible_as(run.memory, "run__memory_id"),
        project=run.project,
        root_cause=CAUSE,
        pk__lt=own.pk,
    ).exclude(run=run)
    session = run.memory.created_in_session_id if run.memory else ""
    if session:
        rows = rows.exclude(run__memory__created_in_session_id=session)
    objects = frozenset().union(*(wish.objects for wish in asked))
    count = 0
    for run_id, seen in rows.order_by("-pk").values_list("run_id", "seen")[:MAX_KNOWN]:
        command = str(seen.get("observed", ""))
        known = KnownWish(
            run_id, str(seen.get("quote", "")), command, wishes.objects_of(command)
        )
        if known.objects & objects:
            yield known
            count += 1
        if count == MAX_COMPARED:
            return


def _matches(
    asked: Sequence[Wish], known: Sequence[KnownWish]
) -> Iterator[tuple[Wish, KnownWish]]:
    """Yield each wish with the earlier wish that means the same, if nobody said it thrice.

    If two of the earlier wishes already mean the same, the later of them gave the lesson.
    """
    texts = [*(wish.command for wish in asked), *(wish.command for wish in known)]
    vectors = neighbours.embed_texts(texts) if known else None
    if not vectors:
        return
    own, others = vectors[: len(asked)], vectors[len(asked) :]
    earlier = list(zip(known, others, strict=True))
    for wish, vector in zip(asked, own, strict=True):
        same = [
            (one, at)
            for one, at in earlier
            if one.objects & wish.objects and _cosine(vector, at) >= SAME_WISH
        ]
        pairs = itertools.combinations(same, 2)
        if same and not any(_is_repeated(one, other) for one, other in pairs):
            yield wish, max(same, key=lambda each: _cosine(vector, each[1]))[0]


def _is_repeated(
    one: tuple[KnownWish, Vector], other: tuple[KnownWish, Vector]
) -> bool:
    is_of_another_run = one[0].run_id != other[0].run_id
    return is_of_another_run and _cosine(one[1], other[1]) >= SAME_WISH


def _cosine(one: Vector, other: Vector) -> float:
    """Return the cosine of two vectors of length 1."""
    return sum(a * b for a, b in zip(one, other, strict=True))
