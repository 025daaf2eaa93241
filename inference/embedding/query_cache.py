"""The vectors of recent queries, which one process remembers."""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock

from inference.embedding.embedder import Embedder


class QueryCache:
    """The vectors of recent texts, the least recently used one forgotten first."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._vectors: OrderedDict[tuple[Embedder, str], tuple[float, ...]] = (
            OrderedDict()
        )
        self._lock = Lock()

    def get(self, model: Embedder, text: str) -> tuple[float, ...] | None:
        with self._lock:
            found = self._vectors.get((model, text))
            if found is not None:
                self._vectors.move_to_end((model, text))
            return found

    def put(self, model: Embedder, text: str, vector: tuple[float, ...]) -> None:
        with self._lock:
            self._vectors[model, text] = vector
            self._vectors.move_to_end((model, text))
            if len(self._vectors) > self._size:
                self._vectors.popitem(last=False)

    def clear(self) -> None:
        with self._lock:
            self._vectors.clear()
