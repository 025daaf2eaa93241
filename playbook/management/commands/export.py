from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from common import errors
from common.caller import SYSTEM
from playbook.exchange import export_playbook, managed_block
from projects import project_lookup


class Command(BaseCommand):
    help = "Print a playbook, or write it to a file; see docs/howto/agents-md.md."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("project", help="name or id")
        parser.add_argument("--format", choices=export_playbook.FORMATS, default="ace")
        parser.add_argument(
            "--file",
            type=Path,
            help="file to write; with agents-md only its managed block is replaced",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            project = project_lookup.find_project(options["project"], SYSTEM)
            text = export_playbook.export_text(
                project, SYSTEM, format=options["format"]
            )
            if options["file"] is None:
                self.stdout.write(text, ending="")
                return
            is_changed = write_file(options["file"], text, options["format"])
        except (errors.Refusal, OSError) as error:
            raise CommandError(str(error)) from error
        result = "written" if is_changed else "unchanged"
        self.stderr.write(f"{options['file']}: {result}")


def write_file(path: Path, text: str, format: str) -> bool:
    """Write the file, and return whether its content changed."""
    before = path.read_bytes() if path.exists() else b""
    is_block = format == "agents-md"
    content = managed_block.insert_block(before, text) if is_block else text.encode()
    if content == before and path.exists():
        return False
    path.write_bytes(content)
    return True
