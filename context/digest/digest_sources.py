"""Gather the candidates of a digest from all sources, and order the candidates."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from django.db import DatabaseError, transaction
from django.db.models.functions import Coalesce

from common import errors
from context.digest.digest_options import DigestOptions
from memories.models import Memory
from memories.queries import MemoryQuerySet
from memories.read import search
from memories.read.search import MAX_QUERY, MemorySearch
from memories.store.tags import find_spellings
from projects.models import Project
from search.search import Mode

# This is far more memories than any budget has room for.
MAX_TAGGED = 200


@dataclass
class DigestCandidate:
    """The id of a memory, and how the sources found the memory.

    `structured` is its place among the facts and tagged memories, if it is one of them.
    `scores` is {"keyword" or "semantic": score}.
    """

    id: uuid.UUID
    structured: int | None = None
    scores: dict[str, float] = field(default_factory=dict)

    @property
    def sources(self) -> list[str]:
        named = ["structured"] if self.structured is not None else []
        return [*named, *self.scores]

    @property
    def key(self) -> tuple[object, ...]:
        """Return the sort key of the candidate.

        Structured candidates come first. Then more sources, higher scores, the place
        among the structured candidates and the newer memory decide, in this order. A
        newer memory has a greater id.
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
    """The ordered candidates and how many came from each source.

    `notes` say which sources failed.
    """

    candidates: list[DigestCandidate]
    counts: dict[str, int]
    notes: tuple[str, ...]


def gather(
    project: Project,
    rows: MemoryQuerySet,
    options: DigestOptions,
    query: str,
    *,
    searched: MemoryQuerySet | None = None,
) -> DigestCandidates:
    """Ask every source for candidates; the searches read `searched`, or else all rows.

    If a search fails, a note says so, and the other sources are still used.
    """
    candidates: dict[uuid.UUID, DigestCandidate] = {}
    counts: dict[str, int] = {}
    notes: list[str] = []
    for name, ids in _structured_sources(project, rows, options):
        counts[name] = len(ids)
        for pk in ids:
            place = len(candidates)
            candidates.setdefault(pk, DigestCandidate(pk, structured=place))
    for name, source in _searches(
        project, rows if searched is None else searched, options, query
    ):
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
    project: Project, rows: MemoryQuerySet, options: DigestOptions
) -> list[tuple[str, Sequence[uuid.UUID]]]:
    """Return (name, ids of memories) of each structured source that is configured.

    The facts are the newest fact of each key, in the configured order. The tagged
    memories follow, newest first.
    """
    structured = options.structured
    sources: list[tuple[str, Sequence[uuid.UUID]]] = []
    if structured.fact_keys:
        sources.append(("facts", _facts(rows, structured.fact_keys)))
    if structured.tags:
        spelled = find_spellings(project, structured.tags)
        tagged = rows.tagged(spelled, "any").order_by("-pk")
        sources.append(("tags", list(tagged.values_list("pk", flat=True)[:MAX_TAGGED])))
    return sources


def _facts(rows: MemoryQuerySet, keys: Sequence[str]) -> list[uuid.UUID]:
    facts = rows.filter(kind=Memory.Kind.FACT, key__in=keys)
    facts = facts.order_by("key", Coalesce("occurred_at", "created_at").desc(), "-pk")
    newest = dict(facts.distinct("key").values_list("key", "pk"))
    return [newest[key] for key in dict.fromkeys(keys) if key in newest]


def _searches(
    project: Project, rows: MemoryQuerySet, options: DigestOptions, query: str
) -> list[tuple[str, Callable[[], dict[uuid.UUID, float]]]]:
    if not query.strip():
        return []

    def scores(mode: Mode, limit: int) -> dict[uuid.UUID, float]:
        if len(query) > MAX_QUERY:
            raise errors.Invalid(
                f"A query has at most {MAX_QUERY} characters; this one has {len(query)}."
            )
        request = MemorySearch(query, mode=mode)
        ranked = search.rank_rows(project, rows, request, min_hits=limit)
        return {hit.id: hit.lanes[mode].score for hit in ranked.hits[:limit]
                if mode in hit.lanes}  # fmt: skip

    sources: list[tuple[str, Callable[[], dict[uuid.UUID, float]]]] = []
    if options.keyword.enabled:
        sources.append(("keyword", lambda: scores("keyword", options.keyword.limit)))
    if options.semantic.enabled:
        sources.append(("semantic", lambda: scores("semantic", options.semantic.limit)))
    return sources
