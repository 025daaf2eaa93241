"""The embedding provider of the tests: it compares words, and can simulate an outage."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache

from inference.embedding import active_model, embedder
from inference.embedding.vector import normalise
from inference.errors import ProviderDown

_outages: list[object] = []


class FakeEmbedder(embedder.Embedder):
    """Give each word a fixed random direction, and each text the sum of its words' directions.

    The cosine of two texts is about the share of words that both texts have. If the texts
    have no word in common, the cosine is 0 ± 0.05.
    """

    has_own_scale = False

    def __init__(self, choice: embedder.EmbeddingChoice | None = None) -> None:
        super().__init__(choice)
        self._requested = self.choice.dimensions

    @property
    def name(self) -> str:
        """The model's name; with EMBEDDING_DIMENSIONS it includes the width, as in `fake@64`."""
        return f"fake@{self._requested}" if self._requested else "fake"

    @property
    def dimensions(self) -> int:
        """The width of the vectors: a multiple of 8, at most 512."""
        return self._requested or 384

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        if _outages:
            raise ProviderDown
        return [_vector(text, self.dimensions) for text in texts]


@contextmanager
def outage() -> Iterator[None]:
    """Make every call fail as if the provider were down, in all threads."""
    # During an outage, a query whose vector is cached would still be answered.
    active_model.forget_queries()
    mark = object()
    _outages.append(mark)
    try:
        yield
    finally:
        _outages.remove(mark)


def _vector(text: str, width: int) -> list[float]:
    words = re.findall(r"\w+", text.casefold()) or [text]
    columns = zip(*(_direction(word, width) for word in words), strict=True)
    return normalise([sum(column) for column in columns])


@lru_cache(maxsize=4096)
def _direction(word: str, width: int) -> tuple[int, ...]:
    """Return a list of `width` numbers, each 1 or -1."""
    digest = hashlib.blake2b(
        word.encode("utf-8", "surrogatepass"), digest_size=width // 8
    ).digest()
    return tuple(1 if byte >> bit & 1 else -1 for byte in digest for bit in range(8))
