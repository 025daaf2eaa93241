from __future__ import annotations

import gzip
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from common import errors
from common.caller import SYSTEM
from conversations.exchange.export_sessions import export_lines
from projects.models import Project
from projects.project_lookup import find_project


class Command(BaseCommand):
    help = (
        "Write the sessions and agent memories of a project to a file of JSON lines, whole. "
        "`import_sessions` reads it; see docs/conversations.md."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path, help="a name in .gz is compressed")
        parser.add_argument("--project", required=True, help="the project's id or name")

    def handle(self, *args: Any, **options: Any) -> None:
        path: Path = options["file"]
        partial = path.with_name(f"{path.name}.partial")
        try:
            project = find_project(options["project"], SYSTEM)
            count = write_file(partial, project, is_compressed=path.suffix == ".gz")
            partial.replace(path)
        except errors.Refusal as error:
            raise CommandError(str(error)) from error
        except OSError as error:
            raise CommandError(f"{path} cannot be written: {error}") from error
        self.stdout.write(f"{path.name}: {count} lines")


def write_file(path: Path, project: Project, *, is_compressed: bool) -> int:
    """Write the lines of an export; return how many there are."""
    count = 0
    open_text = gzip.open if is_compressed else open
    with open_text(path, "wt", encoding="utf-8", newline="\n") as file:
        for line in export_lines(project, SYSTEM):
            file.write(f"{line}\n")
            count += 1
    return count
