"""Run the loop in a thread beside a stream, so that a slow model does not silence the stream."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator

from django.db import connections

from agents.loop.events import AgentEvent

KEEP_ALIVE = 15.0  # seconds without an event after which a stream sends a comment

MakeEvents = Callable[[Callable[[], bool]], Iterator[AgentEvent]]


class EventQueue:
    """Events that a thread puts, and that a coroutine takes without holding a thread."""

    def __init__(self) -> None:
        self.events: deque[AgentEvent | None] = deque()  # None is behind the last one
        self.lock = threading.Lock()
        self.reader: tuple[asyncio.AbstractEventLoop, asyncio.Event] | None = None

    def put(self, event: AgentEvent | None) -> None:
        with self.lock:
            self.events.append(event)
            if self.reader:
                loop, is_there = self.reader
                loop.call_soon_threadsafe(is_there.set)

    async def wait(self, seconds: float) -> bool:
        """Return whether there is an event within the seconds."""
        is_there = asyncio.Event()
        with self.lock:
            if self.events:
                return True
            self.reader = asyncio.get_running_loop(), is_there
        try:
            await asyncio.wait_for(is_there.wait(), seconds)
        except TimeoutError:
            return False
        finally:
            with self.lock:
                self.reader = None
        return True


class BackgroundRun:
    """A thread that makes events, and what reads them.

    `make_events` is given a function that says whether to stop: it does after `close`. The
    thread then ends at its next step, and records what was done.
    """

    def __init__(self, make_events: MakeEvents) -> None:
        self.make_events = make_events
        self.queue = EventQueue()
        self.is_gone = threading.Event()
        threading.Thread(target=self._work, daemon=True, name="agent-run").start()

    def close(self) -> None:
        self.is_gone.set()

    async def read(
        self, keep_alive: float = KEEP_ALIVE
    ) -> AsyncIterator[AgentEvent | None]:
        """Yield the events, and None after `keep_alive` silent seconds."""
        while True:
            if not await self.queue.wait(keep_alive):
                yield None
                continue
            event = self.queue.events.popleft()
            if event is None:
                return
            yield event

    def _work(self) -> None:
        try:
            for event in self.make_events(self.is_gone.is_set):
                self.queue.put(event)
        finally:
            self.queue.put(None)
            connections.close_all()
