"""Build the extract of each hit, from the field and the chunk that answer the query."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from common.db import execute_many
from common.text.text_spans import TextSpan
from inference.embedding import active_model, chunks
from inference.embedding.vector import Vector
from memories import searchable_text
from memories.models import Memory
from search import snippets
from search.bm25 import Term

# A hit shows its title, key and tags beside the extract.
SHOWN_BESIDE = "title"
# In characters. A shorter text with two chunks is rare, and its extract comes from all of it.
MIN_LONG = 4 * chunks.MAX_TOKENS


class FieldExtract(NamedTuple):
    """An HTML-escaped extract, and the field from which it is cut."""

    html: str
    field: str


def build(
    memories: Iterable[Memory],
    terms: list[Term],
    language: str,
    vector: Vector | None,
) -> dict[uuid.UUID, FieldExtract]:
    """Return the extract of each memory.

    A long text is cut to the chunk nearest to the query's vector. Of the fields, the one with
    the most weight of the query's words is chosen, and the content if none has a word.
    """
    rows = list(memories)
    nearest = _nearest_chunks(rows, vector) if vector else {}
    parts = {
        (memory.pk, name): text
        for memory in rows
        for name, text in _parts_of(memory, nearest.get(memory.pk))
    }
    built = snippets.build(parts, terms, language)
    return {memory.pk: _choose(memory, built) for memory in rows}


def _choose(
    memory: Memory, built: Mapping[tuple[uuid.UUID, str], snippets.Extract]
) -> FieldExtract:
    mine = {name: each for (pk, name), each in built.items() if pk == memory.pk}
    if not mine:
        return FieldExtract("", "content")
    order = sorted(mine, key=lambda name: (-mine[name].weight, name != "content"))
    return FieldExtract(mine[order[0]].html, order[0])


class _NearestChunk(NamedTuple):
    """The chunk that is nearest to a query, and its span if the vector has it."""

    number: int
    starts_at: int | None
    ends_at: int | None

    def span_in(self, text: str) -> TextSpan:
        """Return the span of the chunk; tokenize the text only if the span is not stored."""
        if self.starts_at is not None and self.ends_at is not None:
            return self.starts_at, self.ends_at
        spans = active_model.get().find_spans(text)
        return spans[self.number] if self.number < len(spans) else (0, len(text))


def _parts_of(memory: Memory, chunk: _NearestChunk | None) -> list[tuple[str, str]]:
    """Return the fields of a memory, or those parts of them that stand in a chunk."""
    fields = searchable_text.field_texts(memory)
    if chunk and chunk.number:
        fields = _cut(fields, *chunk.span_in(memory.text)) or fields
    return [(name, text) for name, text in fields if name != SHOWN_BESIDE]


def _cut(
    fields: Sequence[tuple[str, str]], start: int, end: int
) -> list[tuple[str, str]]:
    parts = []
    at = 0
    for name, text in fields:
        if part := text[max(0, start - at) : max(0, end - at)]:
            parts.append((name, part))
        at += len(text) + 1  # the line break between two fields
    return parts


def _nearest_chunks(
    memories: Sequence[Memory], vector: Vector
) -> dict[uuid.UUID, _NearestChunk]:
    """Return the nearest chunk of each long memory."""
    long = [memory.pk for memory in memories if len(memory.text) > MIN_LONG]
    if not long:
        return {}
    statement = NEAREST_CHUNKS, [long, vector.model, vector.text]
    (rows,) = execute_many(statement, using=Memory.objects.db)
    return {pk: _NearestChunk(*found) for pk, *found in rows}


NEAREST_CHUNKS = """
SELECT DISTINCT ON (memory_id) memory_id, chunk, starts_at, ends_at
FROM memories_memoryvector
WHERE memory_id = ANY(%s) AND model = %s
ORDER BY memory_id, embedding <=> %s::halfvec
"""
