"""Count lessons that were passed over as general; the third session makes them proposals."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import timedelta

from django.db.models import QuerySet
from django.utils import timezone
from pgvector.django import CosineDistance

from common.caller import Caller
from inference.embedding import active_model
from playbook.delta_vectors import KNOWN_LESSONS
from playbook.entries.neighbours import MERGE_COSINE
from playbook.lessons import repeats
from playbook.lessons.draft import Draft
from playbook.lessons.lesson import Operation, TaughtLesson
from playbook.models import LessonCandidate, PlaybookDelta
from projects.models import Project

SESSIONS = 3
RETENTION = timedelta(days=90)
MAX_QUOTES = 20
PREFIX = "candidate-"


def name(candidate: LessonCandidate) -> str:
    """Return the name by which a candidate is shown to a model."""
    return f"{PREFIX}{candidate.pk.hex[-8:]}"


def settle(
    project: Project, lessons: Sequence[TaughtLesson], caller: Caller
) -> Iterator[TaughtLesson]:
    """Yield the lessons; what names a candidate teaches it once more, in its words."""
    by_name: dict[str, LessonCandidate] = {}
    if any(each.label.startswith(PREFIX) for each in lessons):
        rows = LessonCandidate.objects.visible_to(caller).filter(project=project)
        by_name = {name(candidate): candidate for candidate in rows}
    for each in lessons:
        if not each.label.startswith(PREFIX):
            yield each
        elif each.operation != Operation.CONTRADICT and each.label in by_name:
            lesson = replace(each.lesson, content=by_name[each.label].content)
            yield replace(
                each,
                lesson=lesson,
                operation=Operation.CANDIDATE,
                label="",
                version=None,
            )


def count(draft: Draft) -> Draft | None:
    """Count a session that teaches a candidate; return the proposal of the third session.

    The proposal has the quotes of all its sessions. What was taught twice in one session, or
    without a quote, is not counted again. The caller holds the lock of the playbook.
    """
    delta = draft.delta
    session = delta.session or str(delta.run_id or delta.idempotency_key)
    if not delta.evidence:
        return None
    if _is_proposed(draft):
        return replace(draft, is_candidate=False)  # counted as its repetition
    found = _find(draft) or LessonCandidate(
        project=delta.project,
        memory_id=delta.memory_id,
        content=delta.content,
        kind=delta.kind,
        similarity_hash=delta.similarity_hash,
    )
    if session in found.sessions:
        return None
    found.sessions = [*found.sessions, session]
    found.evidence = [*found.evidence, *delta.evidence][-MAX_QUOTES:]
    if draft.vector and not found.model:
        found.embedding, found.model = list(draft.vector), draft.vector.model
    if len(found.sessions) < SESSIONS:
        found.save()
        return None
    found.delete()
    delta.evidence = found.evidence
    delta.reason = f"Told in {SESSIONS} sessions. {delta.reason}"[:1000]
    return replace(draft, is_candidate=False)


def _is_proposed(draft: Draft) -> bool:
    rows = PlaybookDelta.objects.filter(
        KNOWN_LESSONS, repeats.readers_of(draft.delta), project=draft.delta.project
    )
    return rows.filter(similarity_hash=draft.delta.similarity_hash).exists()


def _find(draft: Draft) -> LessonCandidate | None:
    """Find the candidate with the same text or a near vector, of the same readers."""
    delta, vector = draft.delta, draft.vector
    rows: QuerySet[LessonCandidate] = LessonCandidate.objects.filter(
        repeats.readers_of(draft.delta), project=delta.project
    )
    same = rows.filter(similarity_hash=delta.similarity_hash).first()
    if same or not vector:
        return same
    distance = CosineDistance("embedding", list(vector))
    near = rows.filter(model=vector.model).annotate(distance=distance)
    best = near.order_by("distance", "pk").first()
    if best is None:
        return None
    scale = active_model.scale_of(vector.model)
    cosine = scale.similarity(1 - best.distance)
    return best if cosine >= MERGE_COSINE else None


def prune(project: Project) -> int:
    """Delete candidates that no session taught for a long time."""
    old = timezone.now() - RETENTION
    rows = LessonCandidate.objects.filter(project=project, updated_at__lt=old)
    return rows.delete()[0]
