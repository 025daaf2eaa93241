"""Measure how fast memories are written.

Compare the rate with that of embedding the same texts without writing them.
"""

from __future__ import annotations

import itertools
import time
from argparse import ArgumentParser
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from access.models import ApiKey
from bench import web_server
from bench.datasets import corpora
from bench.fixtures import temp_project
from bench.options import BenchmarkOptions
from bench.report import quality_metrics
from bench.report.progress_bar import ProgressBar
from bench.web_server import WebClient
from common.caller import Role
from inference.embedding import active_model, row_vectors
from memories.maintenance import embedding_job
from projects.models import Project
from tests.support import product_processes

HELP = "The rate of writes until all is searchable, and what one write adds."
TEXTS, SINGLE = 10_000, 500
BATCH, CLIENTS = 100, 8
LOOK_SECONDS = 0.5
WARM = 20  # the first writes are not counted, because a new server loads the model
# These are the settings of a new project.
SETTINGS = {"dedup": {"enabled": True}, "secrets": "mask"}
# The first limit is for bulk writes: their rate must be at least this share of the rate
# of embedding alone. The second limits are for a single write: its p50 and p95 may
# exceed the time to embed one text by this many milliseconds (docs/benchmarks.md,
# "Writing").
MIN_SHARE, MAX_ADDED = 0.8, (15, 30)


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--texts", type=int, default=TEXTS, help="in batches of 100")
    parser.add_argument("--single", type=int, default=SINGLE, help="one by one, after")


def run(options: BenchmarkOptions) -> dict[str, Any]:
    count, singles = options.extra["texts"], options.extra["single"]
    many, few = _collection_texts(options.data, count, WARM + singles)
    with temp_project.create_project(
        "writing", keep=options.keep, settings=SETTINGS
    ) as project:
        # Half of the texts are embedded before the writes and half after them, so that
        # other load on the machine affects both measurements.
        alone = _embed_alone(many[::2])
        with _serve_writer(project) as client:
            batches = _in_batches(project, client, many)
        alone += _embed_alone(many[1::2])
        temp_project.refresh_statistics(project)
        temp_project.maintain_indexes()
        with _serve_writer(project) as client:
            added = _one_by_one(client, few)
    return {
        "texts": count,
        "alone_per_second": round(count / alone, 2),
        **batches,
        "share": round(batches["per_second"] * alone / count, 5),
        **added,
    }


def _collection_texts(data: Path, many: int, few: int) -> tuple[list[str], list[str]]:
    """Return texts for the bulk writes and texts for the single writes.

    The texts come from the collections' documents; a number makes each text different.
    The two lists use different documents, because the duplicate check takes longer for
    a text that is nearly equal to another.
    """
    collections = [
        corpora.load_collection(folder) for folder in corpora.collection_folders(data)
    ]
    documents = [
        f"{document.title}\n{document.text}".strip()
        for documents in itertools.zip_longest(*(c.documents for c in collections))
        for document in documents
        if document
    ]
    if not documents:
        raise CommandError(f"{data} holds no collection (search/NAME/corpus.jsonl).")
    few_documents = min(few, len(documents) // 2)
    return (
        _numbered_texts(documents[few_documents:], range(many)),
        _numbered_texts(
            documents[:few_documents] or documents, range(many, many + few)
        ),
    )


def _numbered_texts(documents: Sequence[str], numbers: range) -> list[str]:
    return [
        f"{documents[number % len(documents)]}\n\nnote {number}" for number in numbers
    ]


def _embed_alone(texts: Sequence[str]) -> float:
    """Return the seconds that embedding alone takes.

    The texts are embedded in this process, in batches as large as those of the job.
    """
    model = active_model.get()
    model.embed(texts[:1])
    bar = ProgressBar("embedded alone", len(texts))
    started = time.perf_counter()
    for start in range(0, len(texts), row_vectors.READ):
        model.embed(texts[start : start + row_vectors.READ])
        bar.show(min(start + row_vectors.READ, len(texts)))
    return time.perf_counter() - started


@contextmanager
def _serve_writer(project: Project) -> Iterator[WebClient]:
    """Run the web server and a worker. Yield a client that has permission to write."""
    key, secret = ApiKey.new(name="benchmark writer", role=Role.WRITER)
    key.save()
    key.projects.set([project])
    try:
        with product_processes.run_worker(), web_server.serve(project) as client:
            yield replace(client, secret=secret)
    finally:
        key.delete()


def _in_batches(
    project: Project, client: WebClient, texts: Sequence[str]
) -> dict[str, Any]:
    bodies = [
        {"memories": [_memory(text) for text in texts[start : start + BATCH]]}
        for start in range(0, len(texts), BATCH)
    ]
    started = time.perf_counter()
    client = replace(client, path="/api/v1/memories/batch")
    spent = client.ask_by(min(CLIENTS, len(bodies)), bodies)
    answered = time.perf_counter() - started
    bar = ProgressBar("searchable", len(texts))
    while left := embedding_job.rows_to_embed(project.pk).count():
        bar.show(len(texts) - left)
        time.sleep(LOOK_SECONDS)
    seconds = time.perf_counter() - started
    bar.show(len(texts))
    return {
        "answered_seconds": round(answered, 1),
        "batch_p50_ms": round(quality_metrics.percentile(spent, 0.5)),
        "searchable_seconds": round(seconds, 1),
        "per_second": round(len(texts) / seconds, 2),
    }


def _one_by_one(client: WebClient, texts: Sequence[str]) -> dict[str, Any]:
    """Embed each text in this process. Then write the text through the API.

    Return the times of both, and the time of each write minus that of its embedding.
    """
    client = replace(client, path="/api/v1/memories")
    bar = ProgressBar("single", len(texts) - WARM)
    embed_ms, write_ms = [], []
    with client.connect() as ask:
        for text in texts[:WARM]:
            ask(_memory(text))
        for text in bar.over(texts[WARM:]):
            started = time.perf_counter()
            active_model.get().embed([text])
            embed_ms.append((time.perf_counter() - started) * 1000)
            write_ms.append(ask(_memory(text)))
    added = [whole - own for whole, own in zip(write_ms, embed_ms, strict=True)]
    return {
        "single": len(added),
        "embedding_ms": _percentiles(embed_ms),
        "write_ms": _percentiles(write_ms),
        "added_ms": _percentiles(added),
    }


def _memory(text: str) -> dict[str, str]:
    return {"content": text, "memory_type": "learning", "agent_id": "benchmark"}


def _percentiles(spent: Sequence[float]) -> list[float]:
    return [round(quality_metrics.percentile(spent, share), 1) for share in (0.5, 0.95)]


def table(result: Mapping[str, Any]) -> Iterator[list[str]]:
    yield ["single write", "p50 ms", "p95 ms"]
    for name in ("embedding", "write", "added"):
        yield [name, *map(str, result[f"{name}_ms"])]


def remarks(result: Mapping[str, Any]) -> Iterator[str]:
    yield (
        f"{result['texts']:,} texts in batches of {BATCH} by {CLIENTS} clients: answered "
        f"in {result['answered_seconds']} s, searchable in {result['searchable_seconds']} s"
    )
    yield (
        f"{result['per_second']} a second, embedding alone {result['alone_per_second']}: "
        f"{result['share']:.0%} (at least {MIN_SHARE:.0%})"
    )
    p50, p95 = result["added_ms"]
    yield (
        f"{result['single']} single writes add {p50} ms, p95 {p95} ms, to their "
        f"embedding (less than {MAX_ADDED[0]} and {MAX_ADDED[1]})"
    )
