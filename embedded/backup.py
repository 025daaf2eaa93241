"""Back up the database with pg_dump."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from django.db import connection

from common import schema_version
from embedded import postgres

MAX_BACKUPS = 5
TIME_FORMAT = "%Y%m%dT%H%M%S.%fZ"


class BackupError(Exception):
    """The backup could not be written; the message is pg_dump's own."""


@dataclass(frozen=True)
class UnfinishedUpgrade:
    """The backup of an upgrade that has begun and has not succeeded, kept in a file.

    `applied` is the hash of the migrations that the backup has.
    """

    backup: str
    applied: str

    @staticmethod
    def file(folder: Path) -> Path:
        return folder / "unfinished_upgrade.json"

    @classmethod
    def read(cls, folder: Path) -> UnfinishedUpgrade | None:
        try:
            return cls(**json.loads(cls.file(folder).read_text()))
        except (FileNotFoundError, ValueError, TypeError):
            return None

    def write(self, folder: Path) -> None:
        draft = self.file(folder).with_suffix(".part")
        draft.write_text(json.dumps(asdict(self)))
        draft.rename(self.file(folder))


def before_upgrade(folder: Path) -> Path:
    """Back up before an upgrade; while its migrations fail, keep the first backup.

    A repeated attempt makes another backup only if the service ran after the newest one, as
    an older release may have done. That backup replaces the first one only if it has the
    same migrations.
    """
    unfinished = UnfinishedUpgrade.read(folder)
    first = folder / unfinished.backup if unfinished else None
    if first and first.is_file() and not has_run_since(newest_moment(folder)):
        return first
    applied = schema_version.hash_applied()
    path = dump(folder)
    if not (unfinished and first and first.is_file() and unfinished.applied != applied):
        UnfinishedUpgrade(path.name, applied).write(folder)
    return path


def finish_upgrade(folder: Path) -> None:
    UnfinishedUpgrade.file(folder).unlink(missing_ok=True)


def newest_moment(folder: Path) -> datetime:
    name = max(path.stem for path in folder.glob("*.dump"))
    return datetime.strptime(name, TIME_FORMAT).replace(tzinfo=UTC)


def has_run_since(moment: datetime) -> bool:
    """Return whether a worker has shown life since; without that table, assume it has."""
    if "jobs_heartbeat" not in connection.introspection.table_names():
        return True
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM jobs_heartbeat WHERE at > %s", [moment])
        return bool(cursor.fetchone()[0])


def dump(folder: Path) -> Path:
    """Write the whole database in pg_dump's custom format; keep the newest five dumps."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    path = folder / f"{datetime.now(UTC):{TIME_FORMAT}}.dump"
    draft = path.with_suffix(".part")
    database = connection.settings_dict
    options = {"host": "HOST", "port": "PORT", "username": "USER", "dbname": "NAME"}
    command = [postgres.program("pg_dump"), "--format=custom", "--no-owner"]
    command += [f"--file={draft}", "--no-password"]
    command += [
        f"--{flag}={database[key]}" for flag, key in options.items() if database[key]
    ]
    result = subprocess.run(
        command,
        env=os.environ | {"PGPASSWORD": database["PASSWORD"] or ""},
        capture_output=True,
        text=True,
        check=False,
    )
    if result.returncode:
        draft.unlink(missing_ok=True)
        raise BackupError(result.stderr.strip())
    draft.rename(path)
    remove_old(folder)
    return path


def remove_old(folder: Path) -> None:
    """Remove all but the newest five dumps and the dump of an unfinished upgrade."""
    unfinished = UnfinishedUpgrade.read(folder)
    for old in sorted(folder.glob("*.dump"))[:-MAX_BACKUPS]:
        if unfinished is None or old.name != unfinished.backup:
            old.unlink()
