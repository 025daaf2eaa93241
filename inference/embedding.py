from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import lru_cache

from inference.registry import Registry

QUERIES_KEPT = 512  # about 12 KB each at 384 dimensions: 6 MB a process


class Embedder(ABC):
    """Turns texts into vectors; one instance serves all threads of a process."""

    @property
    @abstractmethod
    def name(self) -> str:
        """The vector space, stored with each vector so that spaces are never mixed."""

    @property
    @abstractmethod
    def dimensions(self) -> int:
        """The width of the vectors; may ask the provider, so may raise InferenceError."""

    @abstractmethod
    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Return a vector of length 1 for each text, in their order.

        A text's vector does not depend on the texts beside it. Any number of texts is
        taken; calls and model runs hold at most EMBEDDING_BATCH of them. Raises
        InferenceError; then none of the texts has a vector.
        """


registry = Registry[Embedder](
    choice="EMBEDDING_PROVIDER",
    table={
        "minilm": "inference.minilm.MiniLM",
        "openai": "inference.openai_compatible.OpenAICompatible",
        "fastembed": "inference.fastembed.FastEmbed",
        "fake": "inference.fake.Fake",
    },
    reads=[
        "EMBEDDING_MODEL",
        "EMBEDDING_URL",
        "EMBEDDING_API_KEY",
        "EMBEDDING_DIMENSIONS",
        "EMBEDDING_TIMEOUT",
    ],
)


def active() -> Embedder:
    return registry.active()


def embed_query(text: str) -> list[float]:
    """Return the active embedder's vector of one text, remembering the recent ones.

    Raises InferenceError, which is not remembered."""
    return list(_remembered(active().name, text))


def forget_queries() -> None:
    _remembered.cache_clear()


@lru_cache(maxsize=QUERIES_KEPT)
def _remembered(name: str, text: str) -> tuple[float, ...]:
    return tuple(active().embed([text])[0])
