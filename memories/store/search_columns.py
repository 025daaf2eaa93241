"""Fill the columns of a memory that the keyword lane searches."""

from __future__ import annotations

from memories import searchable_text
from memories.models import Memory
from search import columns, reindex

CORPUS = "memories"
# The fields by their weight in the keyword lane: docs/ranking.md, "Fields".
BODY = ("content", "lessons")
WEAK = ("goal", "result", "feedback", "steps", "outcome")


def fill(memory: Memory, language: str) -> None:
    """Set the columns that are computed from the text.

    The memory is not saved.
    """
    memory.similarity_hash = searchable_text.similarity_hash(memory)
    arms = [columns.partition_lexeme("p", memory.project_id)]
    if memory.scope_kind == Memory.ScopeKind.ORG:
        arms.append(columns.partition_lexeme("o", memory.organization_id))
    texts = dict(searchable_text.field_texts(memory))
    memory.content_tsv = columns.lexemes(
        strong=_join(texts.get("title", ""), memory.key),
        body=_join(*(texts.get(name, "") for name in BODY)),
        weak=_join(*(texts.get(name, "") for name in WEAK), " ".join(memory.tags)),
        partitions=arms,
        language=language,
    )


def _join(*texts: str) -> str:
    return "\n".join(filter(None, texts))


reindex.INDEXED_TABLES.append(
    reindex.IndexedTable(
        CORPUS,
        rows=Memory.objects.light,
        counted_rows=Memory.objects.current,
        fill=fill,
    )
)
