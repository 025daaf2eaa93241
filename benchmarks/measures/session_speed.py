"""Measure append, assemble and compaction in sessions of growing length."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

from benchmarks.datasets.recorded_sessions import all_messages
from benchmarks.fixtures import temp_project
from benchmarks.report import quality_metrics
from benchmarks.report.progress_bar import ProgressBar
from common.caller import SYSTEM
from conversations.assembly.assemble import assemble
from conversations.compaction.compact import CompactionMode, compact
from conversations.formats.message import ChatMessage
from conversations.messages.append import MAX_MESSAGES, append, prepare
from conversations.models import Message, Session, Summary
from conversations.sessions.lifecycle import SessionDraft, bootstrap
from conversations.summarizers import ExtractiveSummarizer
from projects.models import Project

CALLS = 100  # of append and of assemble, for each row
BUDGET = 16_000  # tokens of an assembled context


def measure(data: Path, sizes: Sequence[int], *, keep: bool) -> list[dict[str, Any]]:
    """Return a row for each size, before and after a compaction."""
    rows: list[dict[str, Any]] = []
    with temp_project.create_project("session speed", keep=keep) as project:
        for size in sizes:
            session = _fill(project, data, size)
            _analyze()
            extra = islice(all_messages(data), CALLS)
            rows.append(_row(project, session, list(extra), is_compacted=False))
            passes, cpu = _compact(session)
            _analyze()
            session.refresh_from_db()
            extra = islice(all_messages(data), CALLS)
            rows.append(
                _row(project, session, list(extra), is_compacted=True)
                | {"passes": passes, "pass_seconds": cpu}
            )
    return rows


def _fill(project: Project, data: Path, size: int) -> Session:
    session, _ = bootstrap(project, SessionDraft(f"of-{size}"), SYSTEM)
    source = all_messages(data)
    bar = ProgressBar(f"{size:,} messages", size)
    done = 0
    while done < size:
        batch = list(islice(source, min(MAX_MESSAGES, size - done)))
        append(project, session, prepare(project, _anew(batch)), SYSTEM)
        done += len(batch)
        bar.show(done)
    session.refresh_from_db()
    return session


def _anew(messages: Sequence[ChatMessage]) -> list[ChatMessage]:
    """Return messages without their ids, so that a repeated message is stored again."""
    return [replace(message, external_id="") for message in messages]


def _analyze() -> None:
    temp_project.analyze(Session, Message, Summary)


def _row(
    project: Project,
    session: Session,
    extra: Sequence[ChatMessage],
    *,
    is_compacted: bool,
) -> dict[str, Any]:
    before = session.context_tokens
    appends = [_timed_append(project, session, message) for message in _anew(extra)]
    session.refresh_from_db()
    assembles = [_timed_assemble(session) for _ in range(CALLS)]
    return {
        "messages": session.message_count - len(extra),
        "compacted": is_compacted,
        "append_p50_ms": _percentile(appends, 0.5),
        "append_p95_ms": _percentile(appends, 0.95),
        "assemble_p50_ms": _percentile(assembles, 0.5),
        "assemble_p95_ms": _percentile(assembles, 0.95),
        "tokens_before": session.token_count,
        "tokens_after": before,
        "pass_seconds": None,
        "lossless": is_lossless(session),
    }


def _timed_append(project: Project, session: Session, message: ChatMessage) -> float:
    started = time.perf_counter()
    append(project, session, prepare(project, [message]), SYSTEM)
    return time.perf_counter() - started


def _timed_assemble(session: Session) -> float:
    started = time.perf_counter()
    assemble(session, BUDGET, SYSTEM)
    return time.perf_counter() - started


def _percentile(seconds: Sequence[float], share: float) -> float:
    return round(quality_metrics.percentile(seconds, share) * 1000, 2)


def _compact(session: Session) -> tuple[int, float]:
    """Compact a session; return the number of passes, and the CPU seconds of one pass."""
    started = time.process_time()
    result = compact(session, ExtractiveSummarizer(), CompactionMode.FULL, SYSTEM)
    seconds = time.process_time() - started
    return result.passes, round(seconds / (result.passes or 1), 4)


def is_lossless(session: Session) -> bool:
    """Return whether the context covers each message that is not hidden exactly once."""
    uncovered = Message.objects.filter(session=session).without_leaf()
    seqs = list(uncovered.values_list("seq", flat=True))
    leaves: list[Summary] = []
    waiting = list(Summary.objects.filter(session=session).without_parent())
    while waiting:
        summary = waiting.pop()
        children = list(summary.children.all())
        waiting += children
        if not children:
            leaves.append(summary)
    for leaf in leaves:
        seqs += leaf.messages.visible().values_list("seq", flat=True)
    stored = session.messages.visible().order_by("seq")
    return sorted(seqs) == list(stored.values_list("seq", flat=True))


def table(rows: Sequence[dict[str, Any]]) -> Iterator[list[str]]:
    yield [
        "messages",
        "compacted",
        "append p50/p95 ms",
        "assemble p50/p95 ms",
        "tokens, in context",
        "CPU s a pass",
        "lossless",
    ]
    for row in rows:
        yield [
            f"{row['messages']:,}",
            "yes" if row["compacted"] else "no",
            f"{row['append_p50_ms']:.1f}/{row['append_p95_ms']:.1f}",
            f"{row['assemble_p50_ms']:.1f}/{row['assemble_p95_ms']:.1f}",
            f"{row['tokens_before']:,}, {row['tokens_after']:,}",
            "" if row["pass_seconds"] is None else f"{row['pass_seconds']:.3f}",
            "yes" if row["lossless"] else "NO",
        ]
