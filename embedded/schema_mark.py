"""TODO docstring."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

from embedded import data_folder


@dataclass(frozen=True)
class SchemaMark:
    """A note in the data folder that this code's migrations are all applied."""

    path: Path
    text: str

    def is_current(self) -> bool:
        return self.path.exists() and self.path.read_text() == self.text

    def write(self) -> None:
        self.path.write_text(self.text)


def for_data_folder(data: Path) -> SchemaMark:
    """What decides about migrations: their files, the packages and the database."""
    digest = hashlib.sha256(os.environ.get("DATABASE_URL", "").encode())
    digest.update((data_folder.BASE_DIR / "requirements.lock").read_bytes())
    for path in sorted(data_folder.BASE_DIR.glob("*/migrations/*.py")):
        digest.update(os.fsencode(path))
    return SchemaMark(data / "schema", digest.hexdigest())
