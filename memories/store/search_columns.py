"""Fill the columns of a memory that the keyword lane searches."""

from __future__ import annotations

from common.text import plain_text
from memories.models import Memory
from search import columns, reindex, tokenise

CORPUS = "memories"


def fill(memory: Memory, language: str) -> None:
    """Set the columns that are computed from the text.

    The memory is not saved.
    """
    memory.similarity_hash = plain_text.similarity_hash(memory.content)
    arms = [columns.partition_lexeme("p", memory.project_id)]
    if memory.scope_kind == Memory.ScopeKind.ORG:
        arms.append(columns.partition_lexeme("o", memory.organization_id))
    memory.content_tsv = columns.lexemes(
        strong=f"{memory.title} {memory.key}".strip(),
        body=memory.content,
        weak="\n".join([*_unrepeated_texts(memory), " ".join(memory.tags)]).strip(),
        partitions=arms,
        language=language,
    )


def _unrepeated_texts(memory: Memory) -> list[str]:
    """Return the goal and the result, unless the content contains them.

    A text that is left out does not count its words twice.
    """
    parts = filter(None, (memory.goal, memory.result))
    return [part for part in parts if not _is_repeated(memory.content, part)]


def _is_repeated(content: str, part: str) -> bool:
    """Whether the content contains a part as whole words.

    The text "password" does not contain the word "pass".
    """
    return part in content and _normalise(part) in _normalise(content)


def _normalise(value: str) -> str:
    return f" {' '.join(tokenise.separate_words(value).split())} "


reindex.INDEXED_TABLES.append(
    reindex.IndexedTable(
        CORPUS,
        rows=Memory.objects.light,
        counted_rows=Memory.objects.current,
        fill=fill,
    )
)
