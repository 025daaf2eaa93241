"""Open a transcript, also a compressed one, as a stream."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path
from typing import IO, cast


def open_transcript(path: Path) -> IO[bytes]:
    """Open a file, which may end in `.gz`, to read its bytes."""
    if path.suffix == ".gz":
        return cast("IO[bytes]", gzip.open(path, "rb"))
    return path.open("rb")


def read_lines(path: Path) -> Iterator[bytes]:
    """Yield the lines of a file, which may end in `.gz`."""
    with open_transcript(path) as file:
        yield from file
