"""Set the columns by which keyword search finds an entry."""

from __future__ import annotations

import uuid

from common.text import same_text
from playbook.models import Playbook, PlaybookEntry
from search import columns, reindex

CORPUS = "playbook"


def partition(project_id: uuid.UUID) -> str:
    return columns.partition_lexeme("p", project_id)


def fill(entry: PlaybookEntry, language: str) -> None:
    """Set the columns that are derived from the text.

    The next save of the entry writes these columns.
    """
    entry.similarity_hash = same_text.hash_text(entry.content)
    entry.content_tsv = columns.lexemes(
        strong=entry.condition,
        body=entry.content,
        weak=" ".join([entry.category, *entry.tags]),
        partitions=[partition(entry.project_id)],
        language=language,
    )


def _lock_playbook(project_id: uuid.UUID) -> None:
    Playbook.objects.select_for_update(no_key=True).filter(project=project_id).first()


reindex.INDEXED_TABLES.append(
    reindex.IndexedTable(
        CORPUS,
        rows=PlaybookEntry.objects.light,
        counted_rows=PlaybookEntry.objects.current,
        fill=fill,
        lock=_lock_playbook,
    )
)
