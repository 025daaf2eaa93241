"""Read a large body as a stream into a temporary file, and expand gzip within limits."""

from __future__ import annotations

import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Protocol

from common import errors

PIECE = 64 * 1024  # bytes that are read, and at most expanded, at once
IN_MEMORY = 1024 * 1024  # bytes of a body that is not written to disk
# The most that gzip may make of a byte. JSON lines with long repeated texts reach 60; a bomb
# reaches 1,000.
MAX_RATIO = 200
GZIP = 16 + zlib.MAX_WBITS


class BrokenGzip(errors.Refusal):
    """The body is not gzip, or ends before its end; send it whole, or without gzip."""

    code = "broken_gzip"


class ByteStream(Protocol):
    def read(self, size: int, /) -> bytes: ...


@contextmanager
def open_expanded(
    stream: ByteStream, *, is_gzip: bool, limit: int
) -> Iterator[IO[bytes]]:
    """Give the whole body as a file that is gone afterwards; memory stays bounded.

    Refuse with 413 as soon as the body has more than `limit` bytes expanded, or is gzip that
    expands more than MAX_RATIO times.
    """
    with tempfile.SpooledTemporaryFile(max_size=IN_MEMORY) as file:
        size = 0
        for piece in _expand(stream) if is_gzip else _read(stream):
            size += len(piece)
            if size > limit:
                raise errors.TooLarge(
                    f"The body has more than {limit} bytes expanded; send it in parts."
                )
            file.write(piece)
        file.seek(0)
        yield file


def _read(stream: ByteStream) -> Iterator[bytes]:
    while piece := stream.read(PIECE):
        yield piece


def _expand(stream: ByteStream) -> Iterator[bytes]:
    """Yield the pieces of gzip, whose members may follow each other."""
    expander = zlib.decompressobj(GZIP)
    read = expanded = 0
    for piece in _read(stream):
        read += len(piece)
        while piece:
            if expander.eof:
                expander = zlib.decompressobj(GZIP)
            try:
                found = expander.decompress(piece, PIECE)
            except zlib.error:
                raise BrokenGzip from None
            expanded += len(found)
            if expanded > max(MAX_RATIO * read, IN_MEMORY):
                raise errors.TooLarge(
                    f"The body expands more than {MAX_RATIO} times; send it without gzip."
                )
            yield found
            piece = expander.unused_data if expander.eof else expander.unconsumed_tail
    if not expander.eof:
        raise BrokenGzip
