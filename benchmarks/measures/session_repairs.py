"""Count the failures of recorded sessions that come back, and whose repair was known."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.datasets.recorded_sessions import session_files
from benchmarks.datasets.session_failures.failure_class import is_rejected
from benchmarks.datasets.session_failures.failure_history import find_failures
from benchmarks.datasets.session_failures.failure_table import (
    HEADINGS,
    count_by_class,
    share_of_banners,
)
from benchmarks.datasets.session_failures.session_calls import (
    ReadCounts,
    read_sessions,
)
from benchmarks.report.text_table import align_columns


def measure(data: Path) -> dict[str, Any]:
    counts = ReadCounts()
    sessions = list(read_sessions(session_files(data), counts))
    calls = [call for session in sessions for call in session.calls]
    failures = find_failures(sessions)
    return {
        "sessions": len(sessions),
        "calls": len(calls),
        "replayed": counts.replayed,
        "failures": len(failures),
        "rejections": sum(map(is_rejected, calls)),
        "share_of_banners": round(share_of_banners(failures), 4),
        "classes": [asdict(each) for each in count_by_class(failures)],
    }


def table(result: Mapping[str, Any]) -> Iterator[list[str]]:
    yield HEADINGS
    for each in result["classes"]:
        yield [str(value) for value in each.values()]


def remarks(result: Mapping[str, Any], *, is_shown: bool) -> Iterator[str]:
    """Yield the totals, and the table unless it is shown already."""
    if not is_shown:
        yield align_columns(table(result))
    yield (
        f"{result['failures']} failures of {result['calls']:,} calls in "
        f"{result['sessions']} sessions, {result['rejections']} rejected and "
        f"{result['replayed']} replayed calls not counted. Banners: "
        f"{result['share_of_banners']:.1%} of the signatures (at most 2 %)."
    )
