"""Read server-sent events from bytes that arrive in pieces of any size."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

_LINE_END = re.compile(rb"\r\n|\n|\r")
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def read_events(chunks: Iterable[bytes]) -> Iterator[str]:
    """Yield the data of each event, as the HTML standard reads a stream.

    Comments and the other fields are left out. A last event without an empty line after it
    counts, because some servers forget that line.
    """
    data: list[str] = []
    for line in read_lines(chunks):
        if not line and data:
            yield "\n".join(data)
            data = []
        name, _, value = line.partition(b":")
        if name == b"data":
            data.append(value.removeprefix(b" ").decode("utf-8", "replace"))
    if data:
        yield "\n".join(data)


def read_lines(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the lines without their ends (LF, CR or CR LF).

    A last line without an end is left out: it is half a line.
    """
    rest: list[bytes] = []
    ended_with_return, is_first = False, True
    for chunk in chunks:
        if ended_with_return:
            chunk = chunk.removeprefix(b"\n")
            ended_with_return = False if chunk else ended_with_return
        ended_with_return = chunk.endswith(b"\r")
        *ends, last = _LINE_END.split(chunk)
        for end in ends:
            line = b"".join([*rest, end])
            yield line.removeprefix(_BYTE_ORDER_MARK) if is_first else line
            rest, is_first = [], False
        rest.append(last)
