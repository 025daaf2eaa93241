"""Back up the database with pg_dump."""

from __future__ import annotations

import os
import subprocess
from datetime import UTC, datetime
from pathlib import Path

from django.db import connection

from embedded import postgres

MAX_BACKUPS = 5


class BackupError(Exception):
    """The backup could not be written; the message is pg_dump's own."""


def dump(folder: Path) -> Path:
    """Write the whole database in pg_dump's custom format; keep the newest five dumps."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    path = folder / f"{datetime.now(UTC):%Y%m%dT%H%M%S.%fZ}.dump"
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
    for old in sorted(folder.glob("*.dump"))[:-MAX_BACKUPS]:
        old.unlink()
    return path
