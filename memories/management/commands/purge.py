"""The command `manage.py purge`."""

from __future__ import annotations

import json
import uuid
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from common import errors
from common.caller import SYSTEM
from memories.retention import erase
from projects import project_lookup

SELECTIONS = ("ids", "user_id", "session_id")


class Command(BaseCommand):
    help = "Take texts away for good, or count what would go; see docs/purge.md."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("project", help="name or id")
        selected = parser.add_mutually_exclusive_group(required=True)
        selected.add_argument("--ids", nargs="+", type=uuid.UUID, metavar="ID")
        selected.add_argument("--user", dest="user_id")
        selected.add_argument("--session", dest="session_id")
        parser.add_argument("--reason", required=True)
        parser.add_argument("--cascade", action="store_true")
        parser.add_argument("--dry-run", action="store_true")

    def handle(self, *args: Any, **options: Any) -> None:
        selection = {name: options[name] for name in SELECTIONS if options[name]}
        cascade = options["cascade"]
        try:
            project = project_lookup.find_project(options["project"], SYSTEM)
            if options["dry_run"]:
                counts = erase.preview(
                    project, selection, SYSTEM, cascade=cascade
                ).counts
                self.stdout.write(json.dumps({"dry_run": True, "counts": counts}))
                return
            row = erase.purge(
                project, selection, SYSTEM, reason=options["reason"], cascade=cascade
            )
        except errors.Refusal as error:
            raise CommandError(str(error)) from error
        receipt = {"id": str(row.pk), "state": row.state, "counts": row.counts}
        self.stdout.write(json.dumps(receipt))
