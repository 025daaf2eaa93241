"""Projects of any size: real passages, recombined, with the vectors that this makes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from django.core.management.base import CommandError

from benchmarks import copies, corpora, scratch
from benchmarks.progress import Bar
from inference import embedding
from memories import drafts
from memories.drafts import Draft
from memories.models import Memory, MemoryVector
from memories.scopes import Scope
from projects.models import Project

PASSAGES = 2_000  # embedded, from all collections alike
LONGEST = 300  # characters of a passage: embedding takes most of the time
BATCH = 500  # rows written in one transaction
# How much of each of its three passages is in a row's vector: the first is what it is
# about, so that rows about the same lie near each other, as real ones do.
SHARES = np.array([1.0, 0.5, 0.3])
# Tags by the share of the rows that carry them, whatever the row is about.
TAGS = {"half": 0.5, "twentieth": 0.05, "two-hundredth": 0.005}

Dressed = Callable[[Draft, int], Draft]


@dataclass(frozen=True)
class Passages:
    """Real texts with their vectors, and the real queries that were asked of them."""

    texts: list[str]
    vectors: Any
    queries: list[str]


def load(data: Path) -> Passages:
    folders = corpora.folders(data)
    if not folders:
        raise CommandError(
            f"{data} holds no collection (search/NAME/corpus.jsonl). Name a folder of "
            "the layout in docs/ranking.md with --data or BENCHMARK_DATA."
        )
    collections = [corpora.load(folder) for folder in folders]
    documents = [
        f"{document.title}\n{document.text}".strip()[:LONGEST]
        for collection in collections
        for document in collection.documents
    ]
    step = max(1, -(-len(documents) // PASSAGES))
    texts = documents[::step]
    queries = [query.text for each in collections for query in each.queries]
    return Passages(texts, embedded(texts, "passages"), list(dict.fromkeys(queries)))


def embedded(texts: Sequence[str], title: str) -> Any:
    """The vectors of these texts, a row each."""
    bar = Bar(title, len(texts))
    made: list[list[float]] = []
    for start in range(0, len(texts), 100):
        made += embedding.active().embed(texts[start : start + 100])
        bar.show(len(made))
    return np.asarray(made, dtype=np.float32)


def sizes(total: int, projects: int) -> list[int]:
    """Zipf's law: the second largest project is half as large as the largest.

    No two are of the same size.
    """
    shares = 1 / np.arange(1, projects + 1)
    found = [max(1, int(size)) for size in total * shares / shares.sum()]
    return list(dict.fromkeys(found))


@contextmanager
def projects(
    total: int, count: int, passages: Passages, *, keep: bool
) -> Iterator[dict[int, Project]]:
    """So many memories in so many projects, ready to be searched: {size: project}."""
    made: dict[int, Project] = {}
    with ExitStack() as stack:
        for size in sizes(total, count):
            project = stack.enter_context(scratch.project(str(size), keep=keep))
            fill(project, size, passages, Bar(f"{size} memories", size).show)
            made[size] = project
        for project in made.values():
            scratch.settle(project)
        scratch.index_vectors()
        yield made


@contextmanager
def among(
    size: int, total: int, count: int, passages: Passages, *, keep: bool
) -> Iterator[Project]:
    """A project of `size` memories among `count` others with the rest of `total`.

    The others are of one size, and hold copies of its rows.
    """
    with ExitStack() as stack:
        made = stack.enter_context(scratch.project(str(size), keep=keep))
        fill(made, size, passages, Bar(f"{size} memories", size).show)
        each = min(size, (total - size) // count) if count else 0
        for number in Bar("other projects", count).over(range(count)):
            other = stack.enter_context(scratch.project(f"other {number}", keep=keep))
            copies.copy(made, other, each)
        scratch.settle(made)
        scratch.index_vectors()
        yield made


def as_it_is(draft: Draft, number: int) -> Draft:
    return draft


def fill(
    project: Project,
    count: int,
    passages: Passages,
    shown: Callable[[int], None],
    dressed: Dressed = as_it_is,
) -> None:
    """Write so many memories of three passages each; the same ones every time.

    `dressed` adds to the draft of each number what else a memory has.
    """
    chance = np.random.default_rng(count)
    for start in range(0, count, BATCH):
        size = min(BATCH, count - start)
        chosen = chance.integers(len(passages.texts), size=(size, len(SHARES)))
        tagged = chance.random((size, len(TAGS))) < list(TAGS.values())
        memories = Memory.objects.bulk_create(
            _memories(project, passages, start, chosen, tagged, dressed)
        )
        made = mixed(passages, chosen, chance)
        MemoryVector.objects.bulk_create(
            MemoryVector(
                memory=memory,
                project_id=project.pk,
                model=embedding.active().name,
                embedding=vector,
            )
            for memory, vector in zip(memories, made.tolist(), strict=True)
        )
        shown(start + size)


def _memories(
    project: Project,
    passages: Passages,
    start: int,
    chosen: Any,
    tagged: Any,
    dressed: Dressed,
) -> Iterator[Memory]:
    scope = Scope("workspace", str(project.pk))
    for number, (row, marks) in enumerate(zip(chosen, tagged, strict=True), start):
        draft = Draft(
            content=text(passages, row, number),
            memory_type="codebase_knowledge",
            agent_id="benchmark",
            source="import",
            scope=scope,
            tags=tuple(tag for tag, marked in zip(TAGS, marks, strict=True) if marked),
        )
        draft = dressed(draft, number)
        yield drafts.build(project, draft, project.options.search.language)


def text(passages: Passages, chosen: Any, number: int) -> str:
    """Its number keeps a text apart from another of the same passages."""
    return "\n\n".join([*(passages.texts[at] for at in chosen), f"note {number}"])


def mixed(passages: Passages, chosen: Any, chance: Any) -> Any:
    """The passages' vectors, weighted by their shares and a little chance."""
    weights = SHARES * chance.uniform(0.7, 1.3, size=chosen.shape)
    summed = np.einsum("np,npd->nd", weights, passages.vectors[chosen])
    return summed / np.linalg.norm(summed, axis=1, keepdims=True)
