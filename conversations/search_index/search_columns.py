"""Fill the columns of messages and summaries that the keyword lane searches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.db.models import QuerySet

from conversations.formats.harness import is_of_harness
from conversations.formats.message import plain_text
from conversations.models import Message, Summary
from search import columns, reindex

MESSAGES, SUMMARIES = "messages", "summaries"
MAX_INDEXED = 50_000  # characters of a message that are searched (docs/limits.md)
# The parts of a message that its author wrote as text.
WORDS = ("text",)


def words_of(message: Message) -> str:
    """Return what the author of a message says in words, without calls and results.

    What a harness says in the name of a person is not searched.
    """
    if is_of_harness(message.metadata):
        return ""
    parts = [part for part in message.parts if part["type"] in WORDS]
    return plain_text(parts)[:MAX_INDEXED]


def fill_message(message: Message, language: str) -> None:
    """Set the search columns; words weigh more than tool calls and their results."""
    others = [part for part in message.parts if part["type"] not in WORDS]
    words = words_of(message)
    message.content_tsv = columns.lexemes(
        strong="",
        body=words,
        weak=plain_text(others)[: MAX_INDEXED - len(words)],
        partitions=[columns.partition_lexeme("p", message.project_id)],
        language=language,
    )


def fill_summary(summary: Summary, language: str) -> None:
    summary.content_tsv = columns.lexemes(
        strong="",
        body=summary.content[:MAX_INDEXED],
        partitions=[columns.partition_lexeme("p", summary.project_id)],
        language=language,
    )


# {name of the corpus: the rows that its statistics count}
CORPORA: dict[str, Callable[[], QuerySet[Any]]] = {
    MESSAGES: Message.objects.visible,
    SUMMARIES: Summary.objects.all,
}
reindex.INDEXED_TABLES.append(
    reindex.IndexedTable(
        MESSAGES,
        rows=Message.objects.light,
        counted_rows=CORPORA[MESSAGES],
        fill=fill_message,
    )
)
reindex.INDEXED_TABLES.append(
    reindex.IndexedTable(
        SUMMARIES,
        rows=Summary.objects.light,
        counted_rows=CORPORA[SUMMARIES],
        fill=fill_summary,
    )
)
