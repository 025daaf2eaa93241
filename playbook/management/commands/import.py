from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from common import errors
from common.caller import SYSTEM
from common.text.quote import json_string, visible_line
from playbook.exchange import import_playbook
from playbook.exchange.import_playbook import ImportResult
from playbook.lessons import person_edits
from playbook.lessons.draft import Producer
from projects import project_lookup


class Command(BaseCommand):
    help = "Import a playbook from a file; its changes wait for a curator."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("project", help="name or id")
        parser.add_argument("file", type=Path)
        parser.add_argument("--format", choices=import_playbook.FORMATS, default="ace")
        parser.add_argument(
            "--category", help="category of lines whose section matches none"
        )
        parser.add_argument(
            "--producer",
            choices=[Producer.MODEL.value, Producer.HUMAN.value],
            default=Producer.MODEL.value,
            help="who wrote it; only people may change entries of a person",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            project = project_lookup.find_project(options["project"], SYSTEM)
            category = {"category": options["category"]} if options["category"] else {}
            person_edits.refuse_unknown_category(project, category)
            imported = import_playbook.import_text(
                project,
                options["file"].read_bytes().decode(),
                SYSTEM,
                format=options["format"],
                producer=options["producer"],
                **category,
            )
        except UnicodeDecodeError as error:
            raise CommandError(f"{options['file']} is not UTF-8: {error}") from error
        except OSError as error:
            raise CommandError(str(error)) from error
        except errors.Refusal as refusal:
            field_errors = [
                f"{name}: {' '.join(m)}" for name, m in refusal.errors.items()
            ]
            raise CommandError(" ".join([refusal.detail, *field_errors])) from refusal
        self.print_result(imported)

    def print_result(self, imported: ImportResult) -> None:
        for line in imported.unparsed:
            self.stderr.write(f"line {line.line}: {line.why} {json_string(line.text)}")
        for note in imported.notes:
            self.stderr.write(visible_line(note))
        for count in imported.deltas:
            known = f", {count.known} known before" if count.known else ""
            self.stdout.write(f"{count.operation} {count.status}: {count.count}{known}")
