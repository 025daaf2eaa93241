"""Run a benchmark in a database of its own, which is dropped afterwards: `bin/bench --help`."""

from __future__ import annotations

import json
import os
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from subprocess import CalledProcessError
from types import ModuleType

import environ

from embedded import data_folder, servers, service_note

# The modules of bench.measures that each name runs, one after the other. A module has
# HELP, run(options), which returns JSON, table(JSON), which returns rows, and
# remarks(JSON), which returns lines. One that takes more arguments has arguments(parser).
BENCHMARKS: Mapping[str, Sequence[str]] = {
    "search": ["search_quality"],
    "duplicates": ["duplicate_verdicts"],
    "recall": ["semantic_recall"],
    "latency": ["search_latency"],
    "tasks": ["task_cost"],
    "writing": ["write_rate"],
    "sessions": ["session_fixes"],
    "learning": ["learning_curve"],
    "lessons": ["lesson_families", "model_lessons"],
    "given": ["session_start", "memory_harm"],
    "decisions": ["decisions"],
    "hooks": ["hook_latency"],
    "pages": ["page_latency"],
}
IN_PLACE = "--in-place"


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memory_project.settings")
    environ.Env.read_env(data_folder.BASE_DIR / ".env")
    if {"-h", "--help"} & set(sys.argv[1:]) or len(sys.argv) == 1:
        os.environ.setdefault("SECRET_KEY", "for help only")
    else:
        servers.ensure(service_note.locate())
    import django  # only now, because the settings need the servers

    django.setup()
    options = build_parser().parse_args()
    if options.in_place:
        run_here(options)
    else:
        run_apart(keep=options.keep)


def build_parser() -> ArgumentParser:
    parser = ArgumentParser(prog="bin/bench", description=__doc__)
    names = parser.add_subparsers(dest="benchmark", required=True)
    for name in BENCHMARKS:
        modules = import_measures(name)
        about = " ".join(module.HELP for module in modules)
        subparser = names.add_parser(name, help=about, description=about)
        subparser.add_argument(
            "--data",
            type=Path,
            default=Path(os.environ.get("BENCH_DATA", "data")),
            help="folder of the data, in the layout of docs/ranking.md; also BENCH_DATA",
        )
        subparser.add_argument("--json", type=Path, help="write the numbers here")
        subparser.add_argument(
            "--keep", action="store_true", help="keep the database, and name it"
        )
        subparser.add_argument(
            IN_PLACE,
            action="store_true",
            help="use the database of the settings, and keep nothing in it",
        )
        for module in modules:
            if hasattr(module, "arguments"):
                module.arguments(subparser)
    return parser


def import_measures(name: str) -> list[ModuleType]:
    return [import_module(f"bench.measures.{each}") for each in BENCHMARKS[name]]


def run_here(options: Namespace) -> None:
    from bench.options import BenchmarkOptions
    from bench.report.text_table import align_columns

    results = {}
    for module in import_measures(options.benchmark):
        result = module.run(BenchmarkOptions(options.data, options.keep, vars(options)))
        sys.stdout.write(align_columns(module.table(result)) + "\n")
        sys.stdout.writelines(f"{remark}\n" for remark in module.remarks(result))
        results[module.__name__.rpartition(".")[2]] = result
    if options.json:
        options.json.write_text(json.dumps(results, indent=2) + "\n")


def run_apart(*, keep: bool) -> None:
    """Run this command again, in a database of its own."""
    from django.db import DatabaseError

    from bench import own_database

    try:
        with own_database.create(keep=keep) as own:
            own_database.run(["-m", "bench", *sys.argv[1:], IN_PLACE], own.environment)
            if keep:
                sys.stdout.write(f"The database {own.name} is kept.\n")
    except CalledProcessError as error:
        sys.exit(error.returncode)
    except DatabaseError as error:
        sys.exit(
            f"No database could be made for the benchmark: {error} Give the user of "
            f"DATABASE_URL the right CREATEDB, or add {IN_PLACE}."
        )


if __name__ == "__main__":
    main()
