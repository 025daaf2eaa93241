"""Open a transcript, also a compressed one, as a stream of lines."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path


def read_lines(path: Path) -> Iterator[bytes]:
    """Yield the lines of a file, which may end in `.gz`."""
    open_bytes = gzip.open if path.suffix == ".gz" else open
    with open_bytes(path, "rb") as file:
        yield from file
