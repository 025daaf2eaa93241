"""Measure an agent's memory: what it costs, and whether its episodes hold known repairs."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Iterator, Mapping
from typing import Any

from django.core.management.base import CommandError

from benchmarks.datasets.recorded_sessions import FOLDER, session_files
from benchmarks.measures import agent_latency, episode_recall, session_repairs
from benchmarks.options import BenchmarkOptions

HELP = (
    "What memory adds before an agent's first model call, how its prompts grow, and whether "
    "its episodes hold the repairs of failures that come back."
)
# Parts that fill a project, and parts that replay recorded sessions.
FILLED, REPLAYED = ("latency", "prompts"), ("failures", "episodes")


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--only", choices=[*FILLED, *REPLAYED], help="measure only one part"
    )
    parser.add_argument("--memories", type=int, default=agent_latency.MEMORIES)
    parser.add_argument("--queries", type=int, default=agent_latency.QUERIES)


def run(options: BenchmarkOptions) -> dict[str, Any]:
    only = options.extra["only"]
    has_sessions = bool(session_files(options.data))
    if only in REPLAYED and not has_sessions:
        raise CommandError(f"{options.data / FOLDER} holds no transcripts.")
    result: dict[str, Any] = {}
    if only not in REPLAYED:
        result |= agent_latency.measure(options, [only] if only else FILLED)
    if has_sessions and only in (None, "failures"):
        result["failures"] = session_repairs.measure(options.data)
    if has_sessions and only in (None, "episodes"):
        result["episodes"] = episode_recall.measure(options.data, keep=options.keep)
    return result


def table(result: Mapping[str, Any]) -> Iterator[list[str]]:
    """Yield the table of the first part that was measured."""
    if "memories" in result:
        yield from agent_latency.table(result)
    elif "failures" in result:
        yield from session_repairs.table(result["failures"])
    else:
        yield from episode_recall.table(result["episodes"])


def remarks(result: Mapping[str, Any]) -> Iterator[str]:
    """Yield the remarks of each part, and the tables that `table` left out."""
    yield from agent_latency.remarks(result)
    if "failures" in result:
        is_shown = "memories" not in result
        yield from session_repairs.remarks(result["failures"], is_shown=is_shown)
    if "episodes" in result:
        is_shown = result.keys() == {"episodes"}
        yield from episode_recall.remarks(result["episodes"], is_shown=is_shown)
