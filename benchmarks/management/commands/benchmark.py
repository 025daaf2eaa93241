from __future__ import annotations

import json
from argparse import ArgumentParser
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from benchmarks import (
    conversation,
    dedup,
    deduplication,
    digest,
    growth,
    latency,
    learning,
    pages,
    recall,
    relevance,
    search,
    writing,
)
from benchmarks.options import Options

# Each module has HELP, run(options) → JSON, table(JSON) → rows, remarks(JSON) → lines.
# A module that takes more arguments has arguments(parser) as well.
BENCHMARKS: dict[str, ModuleType] = {
    "search": search,
    "conversation": conversation,
    "dedup": dedup,
    "relevance": relevance,
    "learning": learning,
    "growth": growth,
    "recall": recall,
    "latency": latency,
    "digest": digest,
    "deduplication": deduplication,
    "writing": writing,
    "pages": pages,
}


class Command(BaseCommand):
    help = "Measure what is claimed, in a project that is removed afterwards."

    def add_arguments(self, parser: ArgumentParser) -> None:
        names = parser.add_subparsers(dest="benchmark", required=True)
        for name, module in BENCHMARKS.items():
            one = names.add_parser(name, help=module.HELP, description=module.HELP)
            one.add_argument("--data", type=Path, default=Path(settings.BENCHMARK_DATA))
            one.add_argument("--json", type=Path, help="write the numbers to this file")
            one.add_argument(
                "--keep", action="store_true", help="leave the project for a look"
            )
            if hasattr(module, "arguments"):
                module.arguments(one)

    def handle(self, *args: Any, **options: Any) -> None:
        module = BENCHMARKS[options["benchmark"]]
        result = module.run(Options(options["data"], options["keep"], options))
        self.stdout.write(aligned(module.table(result)))
        for remark in module.remarks(result):
            self.stdout.write(remark)
        if options["json"]:
            options["json"].write_text(json.dumps(result, indent=2) + "\n")


def aligned(rows: Iterable[list[str]]) -> str:
    """Rows of cells as text, the first column to the left and numbers to the right."""
    cells = list(rows)
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if place == 0 else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in cells
    )
