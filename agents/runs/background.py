"""Run the loop in a thread beside a stream, so that a slow model does not silence the stream."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator

from django.db import connections

from agents.loop.events import AgentEvent

KEEP_ALIVE = 15.0  # seconds without an event after which a stream sends a comment

MakeEvents = Callable[[Callable[[], bool]], Iterator[AgentEvent]]


class _EndMark:
    """The mark behind the last event."""


def stream_events(
    make_events: MakeEvents, keep_alive: float = KEEP_ALIVE
) -> Iterator[AgentEvent | None]:
    """Start a thread that makes events; yield them, and None after `keep_alive` silent seconds.

    `make_events` is given a function that says whether to stop: it does when the reader has
    gone. The thread then ends at its next step, and records what was done.
    """
    events: queue.SimpleQueue[AgentEvent | type[_EndMark]] = queue.SimpleQueue()
    is_gone = threading.Event()

    def work() -> None:
        try:
            for event in make_events(is_gone.is_set):
                events.put(event)
        finally:
            events.put(_EndMark)
            connections.close_all()

    threading.Thread(target=work, daemon=True, name="agent-run").start()
    return _read(events, is_gone, keep_alive)


def _read(
    events: queue.SimpleQueue[AgentEvent | type[_EndMark]],
    is_gone: threading.Event,
    keep_alive: float,
) -> Iterator[AgentEvent | None]:
    try:
        while True:
            try:
                event = events.get(timeout=keep_alive)
            except queue.Empty:
                yield None
                continue
            if isinstance(event, type):
                return
            yield event
    finally:
        is_gone.set()
