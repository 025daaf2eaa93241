"""A file in the data folder which says that all migrations of this code are applied.

If the file is there, `up` starts the web server before Django is loaded.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

from embedded.data_folder import BASE_DIR


@dataclass(frozen=True)
class SchemaMark:
    path: Path
    text: str

    def is_current(self) -> bool:
        return self.path.exists() and self.path.read_text() == self.text

    def write(self) -> None:
        self.path.write_text(self.text)


def for_data_folder(path: Path) -> SchemaMark:
    """Hash everything that can require a migration: the files, packages and the database."""
    digest = hashlib.sha256(os.environ.get("DATABASE_URL", "").encode())
    digest.update((BASE_DIR / "requirements.txt").read_bytes())
    for migration in sorted(BASE_DIR.glob("*/migrations/*.py")):
        digest.update(os.fsencode(migration))
    return SchemaMark(path / "schema", digest.hexdigest())
