"""The lines of a transcript's file, read as a stream."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from itertools import chain
from typing import IO

from conversations.transcripts.events import TranscriptCounts

MAX_LINE = 16 * 1024 * 1024  # bytes of one line, and of a file that is one document


# A JSON value takes up to a hundred times its bytes in memory if it is all objects and lists.
MAX_OBJECTS = 200_000


class LineSource:
    """Yield the whole lines of a file; `consumed` counts the bytes of those that were read.

    `is_whole` says whether these are all bytes. A last line without a line feed is read if it is a whole JSON value; otherwise it waits
    for the rest of the file. A file that `may_be_document`, and whose first line is no JSON
    value, is one document: it is read as one line, and waits if it is not whole. `on_bytes`
    is called with the bytes that were read, in order.
    """

    def __init__(
        self,
        file: IO[bytes],
        counts: TranscriptCounts,
        *,
        may_be_document: bool = False,
        on_bytes: Callable[[bytes], object] = bytes,
    ) -> None:
        self.consumed = 0
        self.is_whole = True
        self._file = file
        self._counts = counts
        self._may_be_document = may_be_document
        self._on_bytes = on_bytes

    def __iter__(self) -> Iterator[bytes]:
        is_first = True
        while raw := self._file.readline(MAX_LINE):
            if not raw.strip():
                self._consume(raw)
                continue
            if is_first and self._may_be_document and not is_json(raw):
                yield from self._read_document(raw)
                return
            is_first = False
            if len(raw) == MAX_LINE and not raw.endswith(b"\n"):
                self._skip_line(raw)
            elif raw.endswith(b"\n") or is_json(raw):
                self._consume(raw)
                yield raw
            else:
                self.is_whole = False
                return

    def _read_document(self, raw: bytes) -> Iterator[bytes]:
        whole = raw + self._file.read(MAX_LINE - len(raw))
        if self._file.read(1):
            self._counts.left_out[f"longer than {MAX_LINE} bytes"] += 1
        elif is_json(whole):
            self._consume(whole)
            yield whole
            return
        else:
            self._counts.left_out["not JSON"] += 1
        self.is_whole = False

    def _skip_line(self, raw: bytes) -> None:
        self._counts.left_out[f"longer than {MAX_LINE} bytes"] += 1
        rest = iter(lambda: self._file.readline(MAX_LINE), b"")
        for part in chain([raw], rest):
            self._consume(part)
            if part.endswith(b"\n"):
                return

    def _consume(self, raw: bytes) -> None:
        self.consumed += len(raw)
        self._on_bytes(raw)


def is_json(raw: bytes) -> bool:
    """Return whether bytes are one JSON value, of no more objects than are read."""
    if has_too_many(raw):
        return False
    try:
        json.loads(raw)
    except (ValueError, RecursionError):
        return False
    return True


def has_too_many(raw: bytes) -> bool:
    """Return whether a line may have too many objects and lists to be parsed."""
    return raw.count(b"{") + raw.count(b"[") > MAX_OBJECTS
