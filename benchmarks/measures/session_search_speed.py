"""Measure searches in messages beside searches in as many memories with the same texts."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from benchmarks.fixtures import population, temp_project
from benchmarks.fixtures.population import Passages
from benchmarks.report import quality_metrics
from benchmarks.report.progress_bar import ProgressBar
from common.caller import SYSTEM
from conversations.formats.message import ChatMessage
from conversations.messages.append import build_row
from conversations.models import Message, MessageVector, Session
from conversations.search_index.search_columns import CORPORA, MESSAGES
from conversations.session_search.search import SessionSearch
from conversations.session_search.search import find as find_messages
from conversations.sessions.lifecycle import SessionDraft, bootstrap
from memories.models import Memory
from memories.read.search import MemorySearch
from memories.read.search import find as find_memories
from projects.models import Project
from search import statistics
from search.search import Mode

MODES: tuple[Mode, ...] = ("keyword", "semantic", "hybrid")
QUERIES, WARM_UP, LIMIT = 200, 50, 20
SESSION_MESSAGES = 1_000  # of each session
BATCH = 1_000


def measure(data: Path, rows: int, *, keep: bool) -> list[dict[str, Any]]:
    """Return a row for each mode; the two searches of a query are made in turn."""
    passages = population.load_passages(data)
    with (
        temp_project.create_project("memories", keep=keep) as memories,
        temp_project.create_project("messages", keep=keep) as messages,
    ):
        bar = ProgressBar(f"{rows:,} memories", rows)
        population.fill_project(memories, rows, passages, bar.show)
        _copy_as_messages(memories, messages, ProgressBar(f"{rows:,} messages", rows))
        temp_project.refresh_statistics(memories)
        _refresh_statistics(messages)
        temp_project.maintain_indexes()
        return [_measure_mode(mode, memories, messages, passages) for mode in MODES]


def _copy_as_messages(source: Project, target: Project, bar: ProgressBar) -> None:
    """Store each memory's text and vector as a message."""
    language = target.options.search.language
    found = Memory.objects.filter(project=source).light().order_by("pk")
    rows = found.prefetch_related("vectors").iterator(chunk_size=BATCH)
    done = 0
    while batch := list(islice(rows, BATCH)):
        draft = SessionDraft(f"session-{done}", agent_id="benchmark")
        session, _ = bootstrap(target, draft, SYSTEM)
        messages = [
            build_row(session, seq, _message(memory.content, seq), language)
            for seq, memory in enumerate(batch, start=1)
        ]
        Message.objects.bulk_create(messages)
        MessageVector.objects.bulk_create(
            MessageVector(
                message=message,
                project_id=target.pk,
                model=vector.model,
                chunk=vector.chunk,
                embedding=vector.embedding,
            )
            for message, memory in zip(messages, batch, strict=True)
            for vector in memory.vectors.all()
        )
        Session.objects.filter(pk=session.pk).update(
            last_seq=len(batch), message_count=len(batch)
        )
        done += len(batch)
        bar.show(done)


def _message(text: str, seq: int) -> ChatMessage:
    return ChatMessage(
        ("user", "assistant")[seq % 2], ({"type": "text", "text": text},)
    )


def _refresh_statistics(project: Project) -> None:
    statistics.rebuild(CORPORA[MESSAGES](), project_id=project.pk, name=MESSAGES)
    temp_project.analyze(Message, MessageVector, Session)


def _measure_mode(
    mode: Mode, memories: Project, messages: Project, passages: Passages
) -> dict[str, Any]:
    queries = passages.queries[: QUERIES + WARM_UP]

    def search_memories(query: str) -> object:
        return find_memories(
            memories, MemorySearch(query, mode=mode, limit=LIMIT), SYSTEM
        )

    def search_messages(query: str) -> object:
        wanted = SessionSearch(query, scope="messages", mode=mode, limit=LIMIT)
        return find_messages(messages, wanted, SYSTEM)

    spent: dict[str, list[float]] = {"memories": [], "messages": []}
    for number, query in enumerate(queries):
        pair = [("memories", search_memories), ("messages", search_messages)]
        # The second search of a query finds its vector in the cache: each takes turns.
        for name, search in pair if number % 2 else pair[::-1]:
            took = _seconds(search, query)
            if number >= WARM_UP:
                spent[name].append(took)
    row: dict[str, Any] = {"mode": mode, "queries": len(spent["memories"])}
    for name, seconds in spent.items():
        for share in (50, 95):
            found = quality_metrics.percentile(seconds, share / 100) * 1_000
            row[f"{name}_p{share}_ms"] = round(found, 2)
    row["ratio_p95"] = round(row["messages_p95_ms"] / row["memories_p95_ms"], 2)
    return row


def _seconds(search: Callable[[str], object], query: str) -> float:
    started = time.perf_counter()
    search(query)
    return time.perf_counter() - started


def lines(rows: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Yield a line for each mode."""
    for row in rows:
        yield (
            f"search, {row['mode']}: {row['queries']} queries, p50/p95 ms of memories "
            f"{row['memories_p50_ms']:.1f}/{row['memories_p95_ms']:.1f}, of messages "
            f"{row['messages_p50_ms']:.1f}/{row['messages_p95_ms']:.1f}, ratio of p95 "
            f"{row['ratio_p95']:.2f}"
        )
