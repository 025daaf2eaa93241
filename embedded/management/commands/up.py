from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import BaseCommand
from django.db import connection

from common import schema_version
from embedded import backup, demo, first_start, schema_mark, up

LOCAL_ADDRESSES = {"0.0.0.0": "127.0.0.1", "::": "::1"}


class Command(BaseCommand):
    help = up.HELP
    # `get_ready` runs the checks, while the children start.
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        up.add_options(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        # The web server may already run. It is stopped even if this block ends with an
        # error.
        with up.stop_at_end():
            credentials = self.get_ready(reset_admin=options["reset_admin"])
            url = address(options["host"], options["port"])
            up.run(url=url, credentials=credentials)

    def get_ready(self, *, reset_admin: bool) -> list[str]:
        """Prepare the database; return the lines of a new password and key."""
        lines = []
        first_start.refuse_old_servers()
        first_start.refuse_newer_schema()
        migrate()
        is_new = not first_start.has_admin()
        if reset_admin or is_new:
            credentials = first_start.make_admin()
            lines.append(f"Admin: {first_start.ADMIN} / {credentials.password}")
            lines.append(f"API key: {credentials.secret}")
        if is_new and (project := demo.seed()):
            up.say(f"Demo project: {project.name}")
        self.check()
        # The children have their own connections; this process needs no other query.
        connection.close()
        return lines


def migrate() -> None:
    data = Path(settings.DATA_DIR)
    backups = data / "backups"
    pending = schema_version.count_pending()
    if pending and first_start.has_data():
        up.say(f"Backup: {first_start.back_up(backups)}")
    if pending:
        up.say("Preparing the database")
        first_start.migrate()
        up.say(f"Migrations: {pending} applied")
    backup.finish_upgrade(backups)
    schema_mark.for_data_folder(data).write()


def address(host: str, port: int) -> str:
    name = LOCAL_ADDRESSES.get(host, host)
    return f"http://[{name}]:{port}/" if ":" in name else f"http://{name}:{port}/"
