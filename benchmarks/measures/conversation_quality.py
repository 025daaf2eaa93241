"""Measure how well search finds short turns of conversations.

Compare the result with another implementation of BM25.
"""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from django.core.management.base import CommandError
from django.db import connection

from benchmarks.datasets import conversation_turns
from benchmarks.datasets.corpora import JudgedCollection, JudgedQuery
from benchmarks.fixtures import temp_project
from benchmarks.measures import search_quality
from benchmarks.options import BenchmarkOptions
from benchmarks.report import quality_metrics
from benchmarks.report.progress_bar import ProgressBar
from projects.models import Project
from search import tokenise

HELP = "nDCG@10 and recall@10 on turns of recorded runs, beside the BM25 of bm25s."
TURNS = 2_000
RIVAL = "bm25s"
LANES = ("keyword", "semantic", "hybrid")
# These are the values of docs/ranking.md. bm25s uses its default variant of BM25, which
# is Lucene's.
K1, B = 1.2, 0.75


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--turns", type=int, default=TURNS, help="turns to store")


def run(options: BenchmarkOptions) -> dict[str, Any]:
    turns = conversation_turns.load_turns(options.data, options.extra["turns"])
    if not turns:
        raise CommandError(f"{options.data} holds no recorded run (traces/*.jsonl).")
    sets = [
        conversation_turns.opening_queries(turns),
        conversation_turns.reply_queries(turns),
    ]
    with temp_project.create_project("conversation", keep=options.keep) as project:
        ids, notes = search_quality.fill_project(project, sets[0])
        rival = RivalBM25(project, ids)
        rows = [_measure(project, one, ids, rival) for one in sets]
    return {"turns": len(turns), "sets": rows, "notes": dict(notes)}


def table(result: dict[str, Any]) -> Iterator[list[str]]:
    rankers = (RIVAL, *LANES)
    yield ["queries", "number", *(f"{r} nDCG@10, recall@10" for r in rankers)]
    for row in result["sets"]:
        numbers = [row[ranker] for ranker in rankers]
        cells = [f"{one['ndcg']:.3f}, {one['recall']:.3f}" for one in numbers]
        yield [row["name"], str(row["queries"]), *cells]


def remarks(result: dict[str, Any]) -> Iterator[str]:
    yield f"{result['turns']} turns; bm25s with k1 {K1}, b {B} on the same lexemes"
    for what, count in result["notes"].items():
        yield f"{count} {what}"


class RivalBM25:
    """bm25s with the lexemes of `content_tsv`, each counted as often as it occurs."""

    def __init__(self, project: Project, ids: dict[Any, str]) -> None:
        bm25s = _bm25s()
        self.language = project.options.search.language
        self.index = bm25s.BM25(k1=K1, b=B, method="lucene")
        self.turn_ids: list[str] = []
        documents = []
        with connection.cursor() as cursor:
            cursor.execute(DOCUMENTS, [project.pk])
            for pk, lexemes in cursor.fetchall():
                self.turn_ids.append(ids[pk])
                documents.append(lexemes)
        self.index.index(documents, show_progress=False)

    def ranking(self, query: JudgedQuery) -> list[str]:
        """Return the best turns without the turn that is the query itself.

        Among turns with equal scores, the newest is first.
        """
        scores = self.index.get_scores(self._lexemes(query.text))
        best = sorted(range(len(scores)), key=lambda at: (-scores[at], -at))
        ids = (self.turn_ids[at] for at in best if scores[at] > 0)
        return [turn for turn in ids if turn != query.id][: search_quality.DEPTH]

    def _lexemes(self, text: str) -> list[str]:
        """Return all lexemes of a query that the index knows.

        The keyword lane differs: it uses no more than the 64 rarest lexemes.
        """
        spaced, whole = tokenise.separate_words(text), tokenise.compounds(text)
        with connection.cursor() as cursor:
            cursor.execute(QUERY, [self.language, spaced])
            (lexemes,) = cursor.fetchone()
        known = self.index.vocab_dict
        return [lexeme for lexeme in (*lexemes, *whole) if lexeme in known]


# If a lexeme has no positions, it is a whole identifier, or it names a project or a
# tier.
DOCUMENTS = """
SELECT id, array_agg(lexeme)
FROM memories_memory, unnest(content_tsv) AS word,
     generate_series(1, coalesce(cardinality(positions), 1))
WHERE project_id = %s AND lexeme !~ '^([pom]:[0-9a-f-]{36}$|[↑⇈])'
GROUP BY id ORDER BY id
"""
QUERY = """
SELECT coalesce(array_agg(lexeme), '{}')
FROM unnest(to_tsvector(%s::regconfig, %s)), generate_series(1, cardinality(positions))
"""


def _bm25s() -> Any:
    try:
        import bm25s
    except ImportError as error:
        raise CommandError("Install requirements-dev.txt: bm25s is missing.") from error
    return bm25s


@dataclass(frozen=True)
class LaneQuality:
    ndcg: float
    recall: float

    @classmethod
    def of(
        cls, queries: Sequence[JudgedQuery], rankings: Sequence[list[str]]
    ) -> LaneQuality:
        pairs = [(r, q.grades) for q, r in zip(queries, rankings, strict=True)]
        return cls(
            ndcg=quality_metrics.mean(
                [quality_metrics.ndcg(*p, depth=search_quality.DEPTH) for p in pairs]
            ),
            recall=quality_metrics.mean([quality_metrics.recall(*p) for p in pairs]),
        )


def _measure(
    project: Project,
    collection: JudgedCollection,
    ids: dict[Any, str],
    rival: RivalBM25,
) -> dict[str, Any]:
    queries = collection.queries
    rankings: dict[str, list[list[str]]] = {name: [] for name in (RIVAL, *LANES)}
    for query in ProgressBar(f"{collection.name}: queries", len(queries)).over(queries):
        rankings[RIVAL].append(rival.ranking(query))
        for lane in LANES:
            rankings[lane].append(
                search_quality.run_query(project, query, lane, ids).ranking
            )
    quality = {name: LaneQuality.of(queries, found) for name, found in rankings.items()}
    rounded = {
        name: {key: round(value, 4) for key, value in vars(one).items()}
        for name, one in quality.items()
    }
    return {"name": collection.name, "queries": len(queries), **rounded}
