"""What every compared system can do, and the rows and queries that it is given."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import Any

import numpy as np

from inference.embedding import active_model
from inference.embedding.vector import Vector
from memories import searchable_text
from memories.models import MemoryVector
from projects.models import Project
from search import parse_query
from search.search import Mode

READ = 2_000  # rows read from the database at a time


@dataclass(frozen=True)
class StoredRows:
    """The rows of a project, in columns. A row is a chunk of a memory's text and its vector.

    Each row has one tag, or an empty text.
    """

    ids: Sequence[str]
    memory_ids: Sequence[str]
    texts: Sequence[str]
    tags: Sequence[str]
    vectors: Any

    def batches(self, size: int) -> Iterator[StoredRows]:
        for start in range(0, len(self.ids), size):
            part = slice(start, start + size)
            yield StoredRows(
                self.ids[part],
                self.memory_ids[part],
                self.texts[part],
                self.tags[part],
                self.vectors[part],
            )

    @cached_property
    def _memory_of_row(self) -> dict[str, str]:
        return dict(zip(self.ids, self.memory_ids, strict=True))

    def memories_of(self, hits: Sequence[str]) -> list[str]:
        """Return the memory of each hit once, in order. A hit is a row or a memory."""
        return list(dict.fromkeys(self._memory_of_row.get(hit, hit) for hit in hits))

    def nearest_memories(
        self, vector: Sequence[float], count: int, tag: str
    ) -> set[str]:
        """Return the memories of the nearest rows, by comparing the vector with every row.

        If there is a tag, only rows with this tag are compared.
        """
        cosines = self.vectors @ np.asarray(vector, dtype=np.float32)
        places = np.arange(len(cosines))
        if tag:
            places = places[np.asarray(self.tags) == tag]
        best = places[np.argsort(-cosines[places])[:count]]
        return {self.memory_ids[place] for place in best}


@dataclass(frozen=True)
class EmbeddedQuery:
    """A query's text, and its vector as the service embeds it."""

    text: str
    vector: Vector


class SearchSystem(ABC):
    """A store that is filled with rows and can be searched.

    `modes` are the modes of search that it has.
    """

    modes: tuple[Mode, ...] = ("semantic",)

    @abstractmethod
    def search(
        self, query: EmbeddedQuery, mode: Mode, *, limit: int, tag: str = ""
    ) -> list[str]:
        """Return the ids of the best rows, or of their memories, best first."""

    @abstractmethod
    def bytes_on_disk(self) -> int: ...


def embed_query(text: str) -> EmbeddedQuery:
    embedded = parse_query.parse(text, "plain").embedded
    return EmbeddedQuery(text, active_model.embed_query(embedded))


def load_rows(project: Project, tag: str = "") -> StoredRows:
    """Read all rows of a project. A row has the tag if its memory has it."""
    ids, memory_ids, texts, tags, vectors = [], [], [], [], []
    for memory_id, chunks in groupby(_read_vectors(project), _memory_id):
        rows = list(chunks)
        memory = rows[0].memory
        for row, text in zip(rows, _chunk_texts(rows), strict=True):
            ids.append(str(row.pk))
            memory_ids.append(str(memory_id))
            texts.append(text)
            tags.append(tag if tag in memory.tags else "")
            vectors.append(np.asarray(row.embedding, dtype=np.float32))
    return StoredRows(ids, memory_ids, texts, tags, _normalise(np.array(vectors)))


def _read_vectors(project: Project) -> Iterator[MemoryVector]:
    fields = (*searchable_text.FIRST_FIELDS, *searchable_text.FURTHER_FIELDS, "tags")
    own = ("memory", "chunk", "starts_at", "ends_at", "embedding")
    rows = MemoryVector.objects.filter(
        project_id=project.pk, model=active_model.get().name
    )
    columns = (*own, *(f"memory__{name}" for name in fields))
    return rows.select_related("memory").only(*columns).iterator(chunk_size=READ)


def _memory_id(row: MemoryVector) -> Any:
    return row.memory_id


def _chunk_texts(rows: Sequence[MemoryVector]) -> list[str]:
    """Return the text of each chunk of one memory."""
    text = searchable_text.whole_text(rows[0].memory)
    return [text] if len(rows) == 1 else [text[r.starts_at : r.ends_at] for r in rows]


def _normalise(vectors: Any) -> Any:
    """Scale each vector to length 1, which rounding to half precision has changed."""
    lengths: Any = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / lengths
