"""Bound how many streams of events are open in this process, of one caller and in all."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import AsyncIterator, Callable
from functools import partial

from common import errors
from common.caller import Caller

STREAMS_OF_ONE = 8  # of a key with its rotations, or of a person
STREAMS = 256
RETRY_AFTER = 10  # seconds

_lock = threading.Lock()
_open = Counter[str]()


class TooManyStreams(errors.Refusal):
    """You follow as many runs at once as you may; end a stream, or ask
    `GET /api/v1/agents/runs/{run_id}` from time to time.
    """

    status = 429
    code = "too_many_streams"


class NoStreamLeft(errors.Refusal):
    """The service has as many open streams as it can; ask `GET /api/v1/agents/runs/{run_id}`
    from time to time, or try again in some seconds.
    """

    status = 503
    code = "no_stream_left"


class EventStream:
    """The lines of a stream; `close` ends its count."""

    def __init__(self, lines: AsyncIterator[str], close: Callable[[], object]) -> None:
        self.lines = lines
        self.close = close

    def __aiter__(self) -> AsyncIterator[str]:
        return self.lines


def count_stream(caller: Caller) -> Callable[[], None]:
    """Count a stream that opens, or refuse it; return what to call once when it closes."""
    name = str(caller.line_id or caller.name)
    with _lock:
        if _open[name] >= STREAMS_OF_ONE:
            raise TooManyStreams(retry_after=RETRY_AFTER)
        if _open.total() >= STREAMS:
            raise NoStreamLeft(retry_after=RETRY_AFTER)
        _open[name] += 1
    return partial(_forget, name)


def _forget(name: str) -> None:
    with _lock:
        _open[name] -= 1
        if not _open[name]:
            del _open[name]
