"""Leave out what a reasoning model thinks before it answers."""

from __future__ import annotations

NAMES = ("think", "thinking", "reasoning")
_OPENINGS = {f"<{name}>": f"</{name}>" for name in NAMES}


class ThinkingFilter:
    """Drops an element `<think>…</think>` at the start of a text that comes in pieces."""

    def __init__(self) -> None:
        self._start: str | None = ""  # what was held back; None after the start
        self._closing = ""  # the end of the element that is open
        self._tail = ""

    def add(self, text: str) -> str:
        """Return what of the text is no thinking."""
        if self._closing:
            return self._skip(text)
        if self._start is None:
            return text
        self._start = (self._start + text).lstrip()
        for opening, closing in _OPENINGS.items():
            if self._start.startswith(opening):
                rest, self._start = self._start[len(opening) :], None
                self._closing = closing
                return self._skip(rest)
            if opening.startswith(self._start):
                return ""
        return self.finish()

    def finish(self) -> str:
        """Return what was held back."""
        held, self._start = self._start or "", None
        return held

    def _skip(self, text: str) -> str:
        tail = self._tail + text
        _, found, rest = tail.partition(self._closing)
        if not found:
            self._tail = tail[-len(self._closing) :]
            return ""
        # Another element may follow.
        self._closing, self._tail, self._start = "", "", ""
        return self.add(rest)
