from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import BaseCommand
from django.db import connection

from memory_project import demo, first_start, serving

ANYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}


class Command(BaseCommand):
    help = "Run the whole service: servers, web, worker and beat, until Ctrl-C."
    # Checked by hand, while the children start.
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        serving.add_options(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        first_start.refuse_old_servers()
        is_new = self.migrate()
        if options["reset_admin"] or not first_start.has_admin():
            self.make_admin()
        if is_new:
            self.say(f"Demo project: {demo.seed()}")
        self.check()
        # The children have connections of their own; this process needs none more.
        connection.close()
        self.serve(host=options["host"], port=options["port"])

    def migrate(self) -> bool:
        """Bring the schema up to date; tell whether the database was empty."""
        pending = first_start.pending_migrations()
        if not pending:
            return False
        is_new = not first_start.has_data()
        if not is_new:
            path = first_start.back_up(settings.DATA_DIR / "backups")
            self.say(f"Backup: {path}")
        first_start.migrate()
        self.say(f"Migrations: {pending} applied")
        return is_new

    def make_admin(self) -> None:
        made = first_start.make_admin()
        self.say(f"Admin: {first_start.ADMIN} / {made.password}")
        self.say(f"API key: {made.secret}")

    def serve(self, *, host: str, port: int) -> None:
        near = ANYWHERE.get(host, host)
        url = f"http://[{near}]:{port}/" if ":" in near else f"http://{near}:{port}/"
        family = serving.children(host=host, port=port, data=Path(settings.DATA_DIR))
        serving.run(family, url=url, say=self.say)

    def say(self, text: str) -> None:
        self.stdout.write(text)
        self.stdout.flush()
