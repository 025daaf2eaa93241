from __future__ import annotations

from typing import Any

from django.core.management import CommandError
from django.core.management.commands import migrate
from django.db import connection

from common import schema_version
from common.locks import advisory_lock


class Command(migrate.Command):
    """Django's command under a lock, because two first starts would race each other."""

    def handle(self, *args: Any, **options: Any) -> None:
        with connection.cursor() as cursor:
            # An index on a large table takes longer than any request may.
            cursor.execute("SET statement_timeout = 0; SET lock_timeout = 0")
        try:
            with advisory_lock("migrate"):
                refuse_newer_schema()
                super().handle(*args, **options)
        finally:
            with connection.cursor() as cursor:
                cursor.execute("RESET statement_timeout; RESET lock_timeout")


def refuse_newer_schema() -> None:
    try:
        schema_version.refuse_newer()
    except schema_version.NewerSchema as error:
        raise CommandError(str(error)) from error
