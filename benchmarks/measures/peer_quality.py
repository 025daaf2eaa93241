"""nDCG@10 of each system on the judged collections."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from benchmarks.datasets import corpora
from benchmarks.datasets.corpora import JudgedCollection, JudgedQuery
from benchmarks.fixtures import temp_project
from benchmarks.measures import search_quality
from benchmarks.options import BenchmarkOptions
from benchmarks.peers import search_system
from benchmarks.peers.search_system import SearchSystem, StoredRows
from benchmarks.peers.systems import installed_systems
from benchmarks.report import quality_metrics
from benchmarks.report.progress_bar import ProgressBar
from search.search import Mode

# A document can have several rows. So many rows hold ten documents, and plain pgvector
# finds no more with its default `hnsw.ef_search`.
ROWS_OF_TEN = 40


@dataclass(frozen=True)
class StoredCollection:
    """A collection in a project: the document of each memory, queries, and rows."""

    documents: Mapping[str, str]
    judged: Sequence[JudgedQuery]
    rows: StoredRows


def measure(options: BenchmarkOptions) -> dict[str, dict[str, float]]:
    """Return for each collection nDCG@10 of each system and mode."""
    folders = corpora.collection_folders(options.data)
    collections = [corpora.load_collection(folder) for folder in folders]
    return {each.name: _measure_quality(each, options) for each in collections}


def _measure_quality(
    collection: JudgedCollection, options: BenchmarkOptions
) -> dict[str, float]:
    """Return nDCG@10 of each system and mode on a collection."""
    chosen = [each for each in installed_systems() if each.on_collections]
    with temp_project.create_project(collection.name, keep=options.keep) as project:
        ids, _ = search_quality.fill_project(project, collection)
        stored = StoredCollection(
            {str(memory_id): document for memory_id, document in ids.items()},
            [query for query in collection.queries if query.grades],
            search_system.load_rows(project),
        )
        found: dict[str, float] = {}
        for compared in ProgressBar(collection.name, len(chosen)).over(chosen):
            with compared.open(project, stored.rows) as system:
                for mode in system.modes:
                    scores = [_ndcg(system, mode, q, stored) for q in stored.judged]
                    ndcg = round(quality_metrics.mean(scores), 4)
                    found[f"{compared.name}, {mode}"] = ndcg
    return found


def _ndcg(
    system: SearchSystem, mode: Mode, query: JudgedQuery, stored: StoredCollection
) -> float:
    """Return nDCG@10 of a query. The document that is the query is no hit."""
    embedded = search_system.embed_query(query.text)
    hits = system.search(embedded, mode, limit=ROWS_OF_TEN)
    ranking = [stored.documents[each] for each in stored.rows.memories_of(hits)]
    ranking = [document for document in ranking if document != query.id]
    return quality_metrics.ndcg(ranking, query.grades, depth=search_quality.DEPTH)
