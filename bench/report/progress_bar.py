from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from typing import TextIO, TypeVar

T = TypeVar("T")

WIDTH = 30  # characters
REDRAW_SECONDS = 0.1  # the shortest time between two drawings of the bar


class ProgressBar:
    """A progress bar on a terminal.

    If the output is no terminal, print one line when the bar is full.
    """

    def __init__(self, title: str, total: int, stream: TextIO | None = None) -> None:
        self.title = title
        self.total = total
        self.stream = stream or sys.stderr
        self.drawn_at = 0.0

    def show(self, done: int) -> None:
        is_finished = done >= self.total
        now = time.monotonic()
        is_due = self.stream.isatty() and now - self.drawn_at >= REDRAW_SECONDS
        if not (is_finished or is_due):
            return
        self.drawn_at = now
        filled = WIDTH * done // max(self.total, 1)
        bar = "#" * filled + "." * (WIDTH - filled)
        start = "\r" if self.stream.isatty() else ""
        end = "\n" if is_finished else ""
        self.stream.write(f"{start}{self.title} [{bar}] {done}/{self.total}{end}")
        self.stream.flush()

    def over(self, items: Iterable[T]) -> Iterator[T]:
        for done, item in enumerate(items, start=1):
            yield item
            self.show(done)
