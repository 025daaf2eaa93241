from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from common import errors
from common.caller import SYSTEM
from playbook.exchange import export_playbook, import_playbook
from playbook.exchange.import_playbook import ImportResult
from playbook.proposals import person_edits
from playbook.proposals.proposed_change import Producer
from projects import project_lookup


class Command(BaseCommand):
    help = "Read a playbook from a file; what it would change waits for a curator."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("project", help="name or id")
        parser.add_argument("file", type=Path)
        parser.add_argument("--format", choices=export_playbook.FORMATS, default="ace")
        parser.add_argument("--category", help="for what no section places")
        parser.add_argument(
            "--producer",
            choices=[Producer.MODEL.value, Producer.HUMAN.value],
            default=Producer.MODEL.value,
            help="who wrote it: a person's entries are changed by people only",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            project = project_lookup.find_project(options["project"], SYSTEM)
            given = {"category": options["category"]} if options["category"] else {}
            person_edits.refuse_unknown_category(project, given)
            imported = import_playbook.import_text(
                project,
                options["file"].read_bytes().decode(),
                SYSTEM,
                format=options["format"],
                producer=options["producer"],
                **given,
            )
        except UnicodeDecodeError as error:
            raise CommandError(f"{options['file']} is not UTF-8: {error}") from error
        except OSError as error:
            raise CommandError(str(error)) from error
        except errors.Refusal as refusal:
            found = [f"{name}: {' '.join(m)}" for name, m in refusal.errors.items()]
            raise CommandError(" ".join([refusal.detail, *found])) from refusal
        self.tell(imported)

    def tell(self, imported: ImportResult) -> None:
        for line in imported.unparsed:
            self.stderr.write(f"line {line.line}: {line.why} {line.text}")
        for note in imported.notes:
            self.stderr.write(note)
        if imported.restored is not None:
            self.stdout.write(f"restored: {imported.restored} entries with history")
        for counted in imported.deltas:
            known = f", {counted.known} known before" if counted.known else ""
            self.stdout.write(
                f"{counted.operation} {counted.status}: {counted.count}{known}"
            )
