"""Gather the candidates of a digest from its sources, and order them."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from django.db import DatabaseError, transaction

from common import errors
from context.digest.digest_options import DigestOptions
from memories.models import Memory
from memories.queries import MemoryQuerySet
from memories.read import search
from memories.read.search import MemorySearch
from projects.models import Project
from search.search import Mode

# Far more memories than any budget has room for.
MAX_TAGGED = 200


@dataclass
class DigestCandidate:
    """The id of a memory, its place among the structured ones, its scores by source."""

    id: uuid.UUID
    structured: int | None = None
    scores: dict[str, float] = field(default_factory=dict)

    @property
    def sources(self) -> list[str]:
        named = ["structured"] if self.structured is not None else []
        return [*named, *self.scores]

    @property
    def key(self) -> tuple[object, ...]:
        """Sort structured ones first, then by number of sources, by scores, newest first.

        Ids are ordered by time: a greater id is newer.
        """
        place = self.structured
        return (
            place is None,
            -len(self.sources),
            -self.scores.get("keyword", 0.0),
            -self.scores.get("semantic", 0.0),
            place if place is not None else 0,
            -self.id.int,
        )


@dataclass(frozen=True)
class DigestCandidates:
    """Candidates in order, the number from each source, and notes of failed sources."""

    candidates: list[DigestCandidate]
    counts: dict[str, int]
    notes: tuple[str, ...]


def gather(
    project: Project, rows: MemoryQuerySet, options: DigestOptions, query: str
) -> DigestCandidates:
    """Ask every source; a failure is noted and does not stop the others."""
    candidates: dict[uuid.UUID, DigestCandidate] = {}
    counts: dict[str, int] = {}
    notes: list[str] = []
    for name, ids in _structured_sources(rows, options):
        counts[name] = len(ids)
        for pk in ids:
            place = len(candidates)
            candidates.setdefault(pk, DigestCandidate(pk, structured=place))
    for name, source in _searches(project, rows, options, query):
        try:
            with transaction.atomic():
                scores = source()
        except (errors.Refusal, DatabaseError) as error:
            notes.append(f"{name}: {error}")
            continue
        counts[name] = len(scores)
        for pk, score in scores.items():
            candidates.setdefault(pk, DigestCandidate(pk)).scores[name] = score
    ordered = sorted(candidates.values(), key=lambda candidate: candidate.key)
    return DigestCandidates(ordered, counts, tuple(notes))


def _structured_sources(
    rows: MemoryQuerySet, options: DigestOptions
) -> list[tuple[str, Sequence[uuid.UUID]]]:
    """Return the newest fact of each key in the configured order, then tagged memories."""
    structured = options.structured
    sources: list[tuple[str, Sequence[uuid.UUID]]] = []
    if structured.fact_keys:
        sources.append(("facts", _facts(rows, structured.fact_keys)))
    if structured.tags:
        tagged = rows.filter(tags__overlap=structured.tags).order_by("-pk")
        sources.append(("tags", list(tagged.values_list("pk", flat=True)[:MAX_TAGGED])))
    return sources


def _facts(rows: MemoryQuerySet, keys: Sequence[str]) -> list[uuid.UUID]:
    facts = rows.filter(kind=Memory.Kind.FACT, key__in=keys).order_by("key", "-pk")
    newest = dict(facts.distinct("key").values_list("key", "pk"))
    return [newest[key] for key in dict.fromkeys(keys) if key in newest]


def _searches(
    project: Project, rows: MemoryQuerySet, options: DigestOptions, query: str
) -> list[tuple[str, Callable[[], dict[uuid.UUID, float]]]]:
    if not query.strip():
        return []

    def scores(mode: Mode, limit: int) -> dict[uuid.UUID, float]:
        ranked = search.rank_rows(project, rows, MemorySearch(query, mode=mode))
        return {hit.id: hit.lanes[mode].score for hit in ranked.hits[:limit]
                if mode in hit.lanes}  # fmt: skip

    sources: list[tuple[str, Callable[[], dict[uuid.UUID, float]]]] = []
    if options.keyword.enabled:
        sources.append(("keyword", lambda: scores("keyword", options.keyword.limit)))
    if options.semantic.enabled:
        sources.append(("semantic", lambda: scores("semantic", options.semantic.limit)))
    return sources
