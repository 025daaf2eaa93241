"""Measure the quality and speed of search on judged collections."""

from __future__ import annotations

import time
from argparse import ArgumentParser
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from django.core.management.base import CommandError

from bench.datasets import corpora
from bench.datasets.corpora import CorpusDocument, JudgedCollection, JudgedQuery
from bench.fixtures import temp_project
from bench.measures import search_silence, search_while_embedding
from bench.measures.search_silence import SilenceResult
from bench.measures.search_while_embedding import PartialResult
from bench.options import BenchmarkOptions
from bench.report import quality_metrics
from bench.report.progress_bar import ProgressBar
from common.caller import SYSTEM
from inference.embedding import active_model
from memories.maintenance import embedding_job
from memories.queries import Filters
from memories.read import search
from memories.store import write
from memories.store.drafts import Draft
from projects.models import Project

HELP = "nDCG@10 and milliseconds of the search modes, on judged collections."
DEPTH = 10
BATCH = 100  # memories written in one transaction
MAX_CONTENT = 50_000  # the API accepts this many characters in a memory's content
MAX_TITLE = 500
LANES: dict[str, dict[str, Any]] = {
    "keyword": {"mode": "keyword"},
    "semantic": {"mode": "semantic"},
    "hybrid": {"mode": "hybrid", "fusion": "relative"},
    "rrf": {"mode": "hybrid", "fusion": "rrf"},
}


@dataclass(frozen=True)
class QueryAnswer:
    """The answer to a query: the corpus ids with their scores. The best id is first."""

    query: JudgedQuery
    hits: list[tuple[str, float]]
    ms: float

    @property
    def ranking(self) -> list[str]:
        return [document for document, _ in self.hits]

    @property
    def right_scores(self) -> list[float]:
        """Return the scores of those documents in the answer that were judged."""
        return [score for document, score in self.hits if document in self.query.grades]

    @property
    def top_score(self) -> float:
        return max((score for _, score in self.hits), default=0.0)


@dataclass(frozen=True)
class ScoreThreshold:
    """A `min_score`, and what it does to the answers.

    It drops all hits of some unanswerable queries, but it also loses some right
    answers.
    """

    min_score: float
    dropped: int
    unanswerable: int
    lost: int
    right: int


@dataclass(frozen=True)
class HybridLead:
    """The mean difference of nDCG@10 to the better lane, with its 95 % interval."""

    over: str
    mean: float
    low: float
    high: float


@dataclass(frozen=True)
class CollectionResult:
    collection: JudgedCollection
    answers: dict[str, list[QueryAnswer]]
    notes: Counter[str] = field(default_factory=Counter)
    silence: SilenceResult | None = None
    partial: Sequence[PartialResult] = ()

    def ndcgs(self, lane: str) -> list[float]:
        """Return nDCG@10 of each judged query."""
        return [
            quality_metrics.ndcg(found.ranking, found.query.grades, depth=DEPTH)
            for found in self._answers_of(lane)
        ]

    def ndcg(self, lane: str) -> float:
        return quality_metrics.mean(self.ndcgs(lane))

    def recall(self, lane: str, depth: int) -> float:
        return quality_metrics.mean(
            [
                quality_metrics.recall(found.ranking[:depth], found.query.grades)
                for found in self._answers_of(lane)
            ]
        )

    def _answers_of(self, lane: str) -> list[QueryAnswer]:
        return [found for found in self.answers[lane] if found.query.grades]

    @property
    def lead(self) -> HybridLead:
        """How far the hybrid search is ahead of its better lane."""
        better = max(("keyword", "semantic"), key=self.ndcg)
        pairs = zip(self.ndcgs("hybrid"), self.ndcgs(better), strict=True)
        differences = [hybrid - lane for hybrid, lane in pairs]
        low, high = quality_metrics.bootstrap_interval(differences)
        return HybridLead(better, quality_metrics.mean(differences), low, high)

    def ms(self, lane: str, share: float) -> float:
        return quality_metrics.percentile(
            [found.ms for found in self.answers[lane]], share
        )


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--collections", help="names, parted by commas; default: all")


def run(options: BenchmarkOptions) -> dict[str, Any]:
    folders = [
        *corpora.collection_folders(options.data),
        *corpora.conversation_folders(options.data),
    ]
    if chosen := options.extra.get("collections"):
        folders = [each for each in folders if each.name in chosen.split(",")]
    if not folders:
        raise CommandError(
            f"{options.data} holds no collection (search/NAME/corpus.jsonl). Name a "
            "folder of the layout in docs/ranking.md with --data or BENCH_DATA."
        )
    collections = [corpora.load_collection(folder) for folder in folders]
    results = [_measure(each, collections, options) for each in collections]
    return {
        "collections": [_result(result) for result in results],
        "silence": [vars(result.silence) for result in results if result.silence],
        "partial": [vars(each) for result in results for each in result.partial],
    }


def table(result: dict[str, Any]) -> Iterator[list[str]]:
    yield ["collection", *LANES, *(f"{lane} p50/p95 ms" for lane in LANES)]
    for row in result["collections"]:
        yield [
            row["name"],
            *(f"{row[lane]:.3f}" for lane in LANES),
            *(f"{row['p50_ms'][lane]:.0f}/{row['p95_ms'][lane]:.0f}" for lane in LANES),
        ]


def remarks(result: dict[str, Any]) -> Iterator[str]:
    for row in result["collections"]:
        lead = row["lead"]
        yield (
            f"{row['name']}: hybrid minus {lead['over']} {lead['mean']:+.3f} "
            f"[{lead['low']:+.3f}, {lead['high']:+.3f}]; recall@5 and @10: "
            + ", ".join(
                f"{lane} {row['recall@5'][lane]:.3f} {row['recall@10'][lane]:.3f}"
                for lane in LANES
            )
        )
        for what, count in row["notes"].items():
            yield f"{row['name']}: {count} {what}"
        if best := row["min_score"]:
            yield (
                f"{row['name']}: min_score {best['min_score']} drops {best['dropped']} "
                f"of {best['unanswerable']} queries without judgements and loses "
                f"{best['lost']} of {best['right']} right answers"
            )
    yield from search_silence.lines(result["silence"])
    yield from search_while_embedding.lines(result["partial"])


def _measure(
    collection: JudgedCollection,
    collections: Sequence[JudgedCollection],
    options: BenchmarkOptions,
) -> CollectionResult:
    with temp_project.create_project(collection.name, keep=options.keep) as project:
        ids, notes = fill_project(project, collection)
        bar = ProgressBar(f"{collection.name}: queries", len(collection.queries))
        answers: dict[str, list[QueryAnswer]] = {lane: [] for lane in LANES}
        for query in bar.over(collection.queries):
            for lane in LANES:
                answers[lane].append(run_query(project, query, lane, ids))
        foreign = search_silence.foreign_queries(collections, collection)
        silence = search_silence.measure(project, collection, foreign, ids)
        partial = []
        if any(query.part for query in collection.queries):
            partial = search_while_embedding.measure(
                project,
                collection,
                ids,
                lambda lane: _ndcg(project, collection, ids, lane),
            )
    return CollectionResult(collection, answers, notes, silence, partial)


def _ndcg(
    project: Project, collection: JudgedCollection, ids: dict[Any, str], lane: str
) -> float:
    answers = [
        run_query(project, query, lane, ids)
        for query in collection.queries
        if query.grades
    ]
    return CollectionResult(collection, {lane: answers}).ndcg(lane)


def fill_project(
    project: Project, collection: JudgedCollection
) -> tuple[dict[Any, str], Counter[str]]:
    """Store a collection as memories.

    Return two dicts. The first maps memory ids to corpus ids. The second counts the
    changes that were made to documents.
    """
    notes: Counter[str] = Counter()
    ids: dict[Any, str] = {}
    seen: set[str] = set()
    bar = ProgressBar(f"{collection.name}: documents", len(collection.documents))
    for start in range(0, len(collection.documents), BATCH):
        batch = collection.documents[start : start + BATCH]
        drafts = [draft_of(document, seen, notes) for document in batch]
        receipts = write.commit(write.prepare(project, drafts, SYSTEM))
        for document, receipt in zip(batch, receipts, strict=True):
            if receipt.status == "stored" and receipt.memory:
                ids[receipt.memory.pk] = document.id
            else:
                notes[f"documents {receipt.status}, not searchable"] += 1
        bar.show(start + len(batch))
    waiting = embedding_job.rows_to_embed(project.pk).count()
    bar = ProgressBar(f"{collection.name}: vectors", waiting)
    temp_project.embed_waiting(project, bar.show)
    temp_project.refresh_statistics(project)
    return ids, notes


def draft_of(document: CorpusDocument, seen: set[str], notes: Counter[str]) -> Draft:
    """Build the memory of a document.

    Count the changes that are needed before the product accepts the document.
    """
    title, content = document.title, document.text
    if len(content.strip()) < 10:
        notes["texts under 10 characters: the title stands for them"] += 1
        content = content.strip() or title or document.id
    if len(content) > MAX_CONTENT:
        notes[f"texts cut to {MAX_CONTENT} characters"] += 1
        content = content[:MAX_CONTENT]
    draft = Draft(
        content=content,
        title=title[:MAX_TITLE],
        memory_type="codebase_knowledge",
        agent_id="benchmark",
        source="import",
        tags=(document.part,) if document.part else (),
    )
    if draft.similarity_hash not in seen:
        seen.add(draft.similarity_hash)
        return draft
    # Two equal texts become one memory unless their keys differ.
    notes["repeated texts, kept apart by a key"] += 1
    return replace(draft, key=document.id[:255])


def run_query(
    project: Project, query: JudgedQuery, lane: str, ids: dict[Any, str]
) -> QueryAnswer:
    """Search as a caller does. Remove the document that is the query from the hits."""
    filters = Filters(tags=(query.part,) if query.part else ())
    request = search.MemorySearch(
        query.text, limit=DEPTH + 1, filters=filters, **LANES[lane]
    )
    # Clear the cache, so that every mode takes the time to embed the query.
    active_model.forget_queries()
    started = time.perf_counter()
    answer = search.find(project, request, SYSTEM)
    ms = (time.perf_counter() - started) * 1000
    hits = [(ids[hit.memory.pk], hit.score) for hit in answer.hits]
    return QueryAnswer(query, [hit for hit in hits if hit[0] != query.id][:DEPTH], ms)


def best_threshold(answers: Sequence[QueryAnswer]) -> ScoreThreshold | None:
    """Return the `min_score` that best separates queries with and without an answer.

    The score maximises a difference. It is the share of unanswerable queries that get
    no hits, minus twice the share of right answers that are lost. A lost answer counts
    twice because it does more harm than a wrong answer. Return None if every query is
    judged.
    """
    tops = [answer.top_score for answer in answers if not answer.query.grades]
    right = [score for answer in answers for score in answer.right_scores]
    if not tops or not right:
        return None

    def at(score: float) -> ScoreThreshold:
        return ScoreThreshold(
            min_score=score,
            dropped=sum(top < score for top in tops),
            unanswerable=len(tops),
            lost=sum(mine < score for mine in right),
            right=len(right),
        )

    return max(
        (at(round(step / 200, 3)) for step in range(1, 200)),
        key=lambda t: t.dropped / t.unanswerable - 2 * t.lost / t.right,
    )


def _result(result: CollectionResult) -> dict[str, Any]:
    best = best_threshold(result.answers["hybrid"])
    judged = [query for query in result.collection.queries if query.grades]
    return {
        "name": result.collection.name,
        **{lane: round(result.ndcg(lane), 4) for lane in LANES},
        **{
            f"recall@{depth}": {
                lane: round(result.recall(lane, depth), 4) for lane in LANES
            }
            for depth in (5, 10)
        },
        "lead": vars(result.lead),
        "documents": len(result.collection.documents),
        "judged_queries": len(judged),
        "p50_ms": {lane: round(result.ms(lane, 0.5), 1) for lane in LANES},
        "p95_ms": {lane: round(result.ms(lane, 0.95), 1) for lane in LANES},
        "min_score": vars(best) if best else None,
        "notes": dict(result.notes),
    }
