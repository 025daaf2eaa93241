"""Measure whether summaries keep what the rest of a session still needs.

A session is stored up to a moment and compacted as far as possible. Of the literals (paths,
commands, error codes, identifiers, numbers) of its compacted messages that later messages name
again, the share that stands in the assembled context is measured, beside the share of the first
and last words of the same messages in as many tokens.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.datasets.recorded_sessions import load_session, session_files
from benchmarks.fixtures import temp_project
from benchmarks.report import quality_metrics
from benchmarks.report.progress_bar import ProgressBar
from common.caller import SYSTEM
from common.text import literals
from conversations.assembly.assemble import AssembledContext, assemble
from conversations.compaction.compact import CompactionMode, compact
from conversations.formats.message import ChatMessage
from conversations.messages.append import MAX_MESSAGES, append, prepare
from conversations.models import Session, Summary
from conversations.sessions.lifecycle import SessionDraft, bootstrap
from conversations.summarizers import ExtractiveSummarizer
from projects.models import Project

BUDGETS = (8_000, 16_000)
JUDGED_BUDGET = 16_000
MOST_OUTSIDE = 0.6  # of the budget, outside of the fresh tail
# At the end, later messages are those behind a compacted one; in the middle, those that the
# session has not seen yet.
MOMENTS = {"end": 1.0, "middle": 0.6}
_NUMBER = re.compile(r"\d{2,}")
# The number of a line, as tools write it before the line: no later message means it.
_NUMBERED = re.compile(r"^[ \t]{0,8}\d{1,7}[→|\t]", re.MULTILINE)
_COMMAND = re.compile(r"[^\n]{3,120}")


@dataclass(frozen=True)
class KeptShare:
    """What one session's context keeps, by summaries and by a cut of equal length."""

    session: str
    wanted: int
    kept: float
    cut: float


def measure(data: Path, *, keep: bool) -> dict[str, Any]:
    """Return the shares at each moment, and the sizes after a full compaction."""
    shares: dict[str, list[KeptShare]] = {moment: [] for moment in MOMENTS}
    outside: list[dict[str, Any]] = []
    files = session_files(data)
    with temp_project.create_project("summaries", keep=keep) as project:
        for path in ProgressBar("sessions", len(files)).over(files):
            messages = load_session(path)
            for moment, part in MOMENTS.items():
                end = int(len(messages) * part)
                session = _store(project, f"{path.name} {moment}", messages[:end])
                if moment == "end":
                    outside += _sizes(session)
                if share := _judge(session, messages):
                    shares[moment].append(share)
        sentences = _sentence_share(project)
    return {
        "kept": {moment: _summarize(found) for moment, found in shares.items()},
        "outside": _summarize_sizes(outside),
        "sentences": sentences,
    }


def _store(project: Project, key: str, messages: Sequence[ChatMessage]) -> Session:
    session, _ = bootstrap(project, SessionDraft(key), SYSTEM)
    for start in range(0, len(messages), MAX_MESSAGES):
        batch = prepare(project, messages[start : start + MAX_MESSAGES])
        append(project, session, batch, SYSTEM)
    compact(session, ExtractiveSummarizer(), CompactionMode.FULL, SYSTEM)
    session.refresh_from_db()
    return session


def _sizes(session: Session) -> list[dict[str, Any]]:
    """Return what stands outside of the tail, for each budget that the session exceeds."""
    found = assemble(session, 10**9, SYSTEM)
    if session.message_count <= found.tail.count:
        return []
    tail = session.messages.filter(seq__gte=found.tail.from_seq, leaf=None)
    tokens = session.context_tokens - sum(tail.values_list("tokens", flat=True))
    return [
        {"session": session.key, "budget": budget, "tokens": tokens}
        for budget in BUDGETS
    ]


def _summarize_sizes(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    summary = []
    for budget in BUDGETS:
        of_budget = [row for row in rows if row["budget"] == budget]
        large = [r for r in of_budget if r["tokens"] > MOST_OUTSIDE * budget]
        share = 1 - len(large) / len(of_budget) if of_budget else 1.0
        summary.append(
            {
                "budget": budget,
                "sessions": len(of_budget),
                "within": round(share, 4),
                "others": [row["session"] for row in large],
            }
        )
    return summary


def _judge(session: Session, messages: Sequence[ChatMessage]) -> KeptShare | None:
    context = assemble(session, JUDGED_BUDGET, SYSTEM)
    covered = list(
        session.messages.filter(leaf__isnull=False).values_list("seq", flat=True)
    )
    wanted = _find_repeated_names(messages, set(covered), session.last_seq)
    if not wanted:
        return None
    text = "\n".join(each.message.text for each in context.messages)
    cut = _cut_of_equal_length(context, messages, covered)
    return KeptShare(
        session.key, len(wanted), _share_in(wanted, text), _share_in(wanted, cut)
    )


def _find_repeated_names(
    messages: Sequence[ChatMessage], covered: set[int], last_seq: int
) -> set[str]:
    """Return the literals of compacted messages that a later message names again.

    In the middle of a session, only messages that are not stored yet are later.
    """
    is_whole = last_seq == len(messages)
    seen: set[str] = set()
    again: set[str] = set()
    for seq, message in enumerate(messages, start=1):
        found = find_literals(message)
        if is_whole or seq > last_seq:
            again |= found & seen
        if seq in covered:
            seen |= found
    return again


def find_literals(message: ChatMessage) -> set[str]:
    """Return the paths, commands, error codes, identifiers and numbers of a message."""
    text = _NUMBERED.sub("", message.text)
    found = set(literals.find_identifiers(text))
    found |= set(_NUMBER.findall(text))
    for part in message.parts:
        arguments = part.get("arguments") if part["type"] == "tool_call" else None
        if isinstance(arguments, dict) and isinstance(arguments.get("command"), str):
            found |= set(_COMMAND.findall(arguments["command"].strip())[:1])
    return found


def _share_in(wanted: set[str], text: str) -> float:
    return sum(literal in text for literal in wanted) / len(wanted)


def _cut_of_equal_length(
    context: AssembledContext, messages: Sequence[ChatMessage], covered: Sequence[int]
) -> str:
    """Return the tail, and the first and last words of what the summaries cover."""
    summaries = [each for each in context.messages if each.summary_id]
    length = sum(len(each.message.text) for each in summaries)
    rest = "\n".join(e.message.text for e in context.messages if not e.summary_id)
    whole = "\n".join(messages[seq - 1].text for seq in sorted(covered))
    half = length // 2
    return f"{rest}\n{whole[:half]}\n{whole[-half:] if half else ''}"


def _summarize(shares: Sequence[KeptShare]) -> dict[str, Any]:
    total = sum(each.wanted for each in shares)
    ordered = sorted(shares, key=lambda each: each.kept - each.cut)
    ordered_kept = sorted(each.kept for each in shares)
    ordered_cut = sorted(each.cut for each in shares)
    return {
        "sessions": len(shares),
        "kept": round(sum(e.kept * e.wanted for e in shares) / (total or 1), 4),
        "cut": round(sum(e.cut * e.wanted for e in shares) / (total or 1), 4),
        "kept_mean": round(quality_metrics.mean([e.kept for e in shares]), 4),
        "cut_mean": round(quality_metrics.mean([e.cut for e in shares]), 4),
        "kept_deciles": _deciles(ordered_kept),
        "cut_deciles": _deciles(ordered_cut),
        "worst": [f"{e.session}: {e.kept:.2f}, cut {e.cut:.2f}" for e in ordered[:5]],
    }


def _deciles(ordered: Sequence[float]) -> list[float]:
    shares = [n / 10 for n in range(1, 10)]
    return [round(quality_metrics.percentile(ordered, each), 3) for each in shares]


def _sentence_share(project: Project) -> float:
    """Return the lowest share of a leaf's characters that are in its sentences."""
    rows = Summary.objects.filter(project_id=project.pk)
    shares = [
        _share_of_sentences(text) for text in rows.values_list("content", flat=True)
    ]
    return round(quality_metrics.percentile(shares, 0.05), 4)


def _share_of_sentences(text: str) -> float:
    lists = ("Files: ", "Commands: ", "Also named: ", "Expand for details about: ")
    lines = text.splitlines()
    spoken = sum(len(line) for line in lines if not line.startswith(lists))
    return spoken / (len(text) or 1)


def lines(result: dict[str, Any]) -> Iterator[str]:
    for moment, row in result["kept"].items():
        yield (
            f"{moment}: kept {row['kept']:.3f} (a session {row['kept_mean']:.3f}), cut "
            f"{row['cut']:.3f} ({row['cut_mean']:.3f}), {row['sessions']} sessions"
        )
        yield f"  deciles {row['kept_deciles']}"
        yield f"  of the cut {row['cut_deciles']}"
        yield f"  worst {row['worst']}"
    for row in result["outside"]:
        yield (
            f"budget {row['budget']:,}: {row['within']:.3f} of {row['sessions']} sessions "
            f"within {MOST_OUTSIDE}; others: {', '.join(row['others']) or 'none'}"
        )
    yield f"sentences: {result['sentences']:.3f} of a summary (lowest twentieth)"
