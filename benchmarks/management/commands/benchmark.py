from __future__ import annotations

import json
import sys
from argparse import ArgumentParser
from pathlib import Path
from subprocess import CalledProcessError
from types import ModuleType
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError

from benchmarks.measures import (
    agent_memory,
    digest_latency,
    duplicate_scan,
    duplicate_verdicts,
    learning_curve,
    lesson_families,
    long_texts,
    memory_harm,
    page_latency,
    playbook_size,
    rule_relevance,
    search_latency,
    search_peers,
    search_quality,
    search_scale,
    semantic_recall,
    session_fixes,
    session_memory,
    session_start,
    task_cost,
    taught_rules,
    write_rate,
)
from benchmarks.options import BenchmarkOptions
from benchmarks.product import own_database
from benchmarks.report.text_table import align_columns

# Each module has HELP. It also has the functions run(options), which returns JSON,
# table(JSON), which returns rows, and remarks(JSON), which returns lines. A module that
# takes more arguments has arguments(parser).
IN_PLACE = "--in-place"
BENCHMARKS: dict[str, ModuleType] = {
    "search": search_quality,
    "conversations": session_memory,
    "agent": agent_memory,
    "sessions": session_fixes,
    "context": session_start,
    "harm": memory_harm,
    "dedup": duplicate_verdicts,
    "long": long_texts,
    "relevance": rule_relevance,
    "taught": taught_rules,
    "learning": learning_curve,
    "lessons": lesson_families,
    "growth": playbook_size,
    "cost": task_cost,
    "recall": semantic_recall,
    "latency": search_latency,
    "scale": search_scale,
    "peers": search_peers,
    "digest": digest_latency,
    "deduplication": duplicate_scan,
    "writing": write_rate,
    "pages": page_latency,
}


class Command(BaseCommand):
    help = "Run a benchmark in a database of its own, which is dropped afterwards."

    def add_arguments(self, parser: ArgumentParser) -> None:
        names = parser.add_subparsers(dest="benchmark", required=True)
        for name, module in BENCHMARKS.items():
            subparser = names.add_parser(
                name, help=module.HELP, description=module.HELP
            )
            subparser.add_argument(
                "--data", type=Path, default=Path(settings.BENCHMARK_DATA)
            )
            subparser.add_argument(
                "--json", type=Path, help="write the numbers to this file"
            )
            subparser.add_argument(
                "--keep", action="store_true", help="keep the database, and name it"
            )
            subparser.add_argument(
                IN_PLACE,
                action="store_true",
                help="use the database of the settings, and keep nothing in it",
            )
            if hasattr(module, "arguments"):
                module.arguments(subparser)

    def handle(self, *args: Any, **options: Any) -> None:
        if not options["in_place"]:
            self.run_apart(keep=options["keep"])
            return
        module = BENCHMARKS[options["benchmark"]]
        result = module.run(BenchmarkOptions(options["data"], options["keep"], options))
        self.stdout.write(align_columns(module.table(result)))
        for remark in module.remarks(result):
            self.stdout.write(remark)
        if options["json"]:
            options["json"].write_text(json.dumps(result, indent=2) + "\n")

    def run_apart(self, *, keep: bool) -> None:
        """Run this command again, in a database of its own."""
        try:
            with own_database.create(keep=keep) as own:
                own_database.run([*sys.argv[1:], IN_PLACE], own.environment)
                if keep:
                    self.stdout.write(f"The database {own.name} is kept.")
        except CalledProcessError as error:
            sys.exit(error.returncode)
        except DatabaseError as error:
            raise CommandError(
                f"No database could be made for the benchmark: {error} Give the user of "
                f"DATABASE_URL the right CREATEDB, or add {IN_PLACE}."
            ) from error
