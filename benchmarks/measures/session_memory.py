"""Measure sessions: append, assemble and compact; and what a search in dialogues finds."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Iterator
from typing import Any

from django.core.management.base import CommandError

from benchmarks.datasets import dialogues
from benchmarks.measures import (
    session_evidence,
    session_search_speed,
    session_speed,
    summary_quality,
)
from benchmarks.options import BenchmarkOptions

HELP = "Sessions: append, assemble and compaction; evidence found in dialogues."


SIZES = [10, 1_000, 100_000]
ROWS = 100_000


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--only",
        choices=["evidence", "search", "speed", "summaries"],
        help="measure only one part",
    )
    parser.add_argument(
        "--sizes", type=int, nargs="+", default=SIZES, help="messages of the sessions"
    )
    parser.add_argument(
        "--rows", type=int, default=ROWS, help="messages, and memories, to search"
    )


def run(options: BenchmarkOptions) -> dict[str, Any]:
    only = options.extra["only"]
    rows: list[dict[str, Any]] = []
    evidence: list[dict[str, Any]] = []
    summaries: dict[str, Any] = {}
    if only in (None, "summaries"):
        summaries = summary_quality.measure(options.data, keep=options.keep)
    if only in (None, "speed"):
        rows = session_speed.measure(
            options.data, options.extra["sizes"], keep=options.keep
        )
    searches: list[dict[str, Any]] = []
    if only in (None, "search"):
        searches = session_search_speed.measure(
            options.data, options.extra["rows"], keep=options.keep
        )
    if only in (None, "evidence"):
        evidence = _measure_evidence(options)
    return {
        "rows": rows,
        "evidence": evidence,
        "summaries": summaries,
        "searches": searches,
    }


def _measure_evidence(options: BenchmarkOptions) -> list[dict[str, Any]]:
    sets = dialogues.load_dialogues(options.data)
    if not sets:
        raise CommandError(f"{options.data} holds no conversations/*/turns.jsonl.")
    evidence: list[dict[str, Any]] = []
    for one in sets:
        evidence += session_evidence.measure(one, keep=options.keep)
    return evidence


def table(result: dict[str, Any]) -> Iterator[list[str]]:
    """Return the table of speed; without it, the table of evidence."""
    if result["rows"]:
        yield from session_speed.table(result["rows"])
    else:
        yield from session_evidence.table(result["evidence"])


def remarks(result: dict[str, Any]) -> Iterator[str]:
    """Yield the lines of the table of evidence, where the table of speed is shown."""
    yield from session_search_speed.lines(result["searches"])
    if result["summaries"]:
        yield from summary_quality.lines(result["summaries"])
    if result["rows"] and result["evidence"]:
        for cells in session_evidence.table(result["evidence"]):
            yield "  ".join(filter(None, cells))
