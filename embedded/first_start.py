"""Prepare a database for the service: check it, back it up, migrate it, add the admin."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from pathlib import Path

import axes.utils
from django.contrib.auth import get_user_model
from django.core.management import CommandError, call_command
from django.db import connection

from access import keys
from common import schema_version
from common.caller import Role
from common.db import write
from embedded import backup

MIN_POSTGRES = 160_000  # 16.0, as the server writes it
MIN_VECTOR = (0, 8)
ADMIN = "admin"


@dataclass(frozen=True)
class Credentials:
    password: str
    secret: str


def refuse_old_servers() -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT current_setting('server_version_num')::int, "
            "coalesce(installed_version, default_version, '0') "
            "FROM (SELECT 1) AS one LEFT JOIN pg_available_extensions "
            "ON name = 'vector'"
        )
        server, vector = cursor.fetchone()
    if server < MIN_POSTGRES:
        raise CommandError(
            f"This is PostgreSQL {server // 10_000}; 16 or newer is needed. Point "
            "DATABASE_URL at a newer server, or unset it for the embedded one."
        )
    if tuple(int(part) for part in vector.split(".")[:2]) < MIN_VECTOR:
        raise CommandError(
            f"The server offers pgvector {vector}; 0.8 or newer is needed. Install it "
            "there (package postgresql-NN-pgvector), or unset DATABASE_URL for the "
            "embedded server."
        )


def refuse_newer_schema() -> None:
    try:
        schema_version.refuse_newer()
    except schema_version.NewerSchema as error:
        raise CommandError(str(error)) from error


def has_data() -> bool:
    return bool(connection.introspection.table_names())


def back_up(folder: Path) -> Path:
    try:
        return backup.before_upgrade(folder)
    except backup.BackupError as error:
        raise CommandError(
            f"No backup could be made, so nothing was migrated: {error}"
        ) from error


def migrate() -> None:
    call_command("migrate", verbosity=0, interactive=False)


def has_admin() -> bool:
    return get_user_model().objects.filter(is_superuser=True).exists()


@write
def make_admin() -> Credentials:
    """Set a new password for the admin and issue an API key with the owner's role.

    A lock on the account after wrong passwords is removed.
    """
    password = secrets.token_urlsafe(12)
    admin, _ = get_user_model().objects.get_or_create(username=ADMIN)
    admin.is_active = admin.is_staff = admin.is_superuser = True
    admin.set_password(password)
    admin.save()
    axes.utils.reset(username=ADMIN)
    key = keys.issue(name="first key", role=Role.OWNER, may_attest=True)
    return Credentials(password, key.secret)
