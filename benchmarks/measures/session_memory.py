"""Measure sessions: append, assemble and compact; and what a search in dialogues finds."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Iterator
from typing import Any

from django.core.management.base import CommandError

from benchmarks.datasets import dialogues
from benchmarks.measures import session_evidence
from benchmarks.options import BenchmarkOptions

HELP = "Sessions: append, assemble and compaction; evidence found in dialogues."


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--only", choices=["evidence", "speed"], help="measure only one part"
    )


def run(options: BenchmarkOptions) -> dict[str, Any]:
    sets = dialogues.load_dialogues(options.data)
    if not sets:
        raise CommandError(f"{options.data} holds no conversations/*/turns.jsonl.")
    evidence: list[dict[str, Any]] = []
    for one in sets:
        evidence += session_evidence.measure(one, keep=options.keep)
    return {"rows": [], "evidence": evidence}


def table(result: dict[str, Any]) -> Iterator[list[str]]:
    yield from session_evidence.table(result["evidence"])


def remarks(result: dict[str, Any]) -> Iterator[str]:
    yield from ()
