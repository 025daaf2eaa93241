"""The base class of embedding providers, and the table of providers by setting value."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from django.conf import settings

from common.text.text_spans import TextSpan
from inference.embedding import chunks
from inference.registry import Registry


@dataclass(frozen=True)
class EmbeddingChoice:
    """A model that makes vectors and where it runs, without its key."""

    provider: str
    model: str
    url: str
    dimensions: int | None

    @classmethod
    def of_settings(cls) -> EmbeddingChoice:
        return cls(
            settings.EMBEDDING_PROVIDER,
            settings.EMBEDDING_MODEL,
            settings.EMBEDDING_URL,
            settings.EMBEDDING_DIMENSIONS,
        )

    @property
    def key(self) -> str:
        """The key of this endpoint; an endpoint never receives the key of another endpoint."""
        if self.url == settings.EMBEDDING_URL:
            return str(settings.EMBEDDING_API_KEY)
        return str(settings.EMBEDDING_PREVIOUS_API_KEY)


class Embedder(ABC):
    """Turns texts into vectors; one instance serves all threads of a process."""

    # Whether its cosines have to be put on the scale of the bundled model
    # (`inference.embedding.calibration`).
    has_own_scale = True

    def __init__(self, choice: EmbeddingChoice | None = None) -> None:
        """Without a `choice`, use the choice of the settings."""
        self.choice = choice or EmbeddingChoice.of_settings()

    @property
    @abstractmethod
    def name(self) -> str:
        """The vector space, stored with each vector so that spaces are never mixed."""

    @property
    @abstractmethod
    def dimensions(self) -> int:
        """The width of the vectors; may ask the provider, and may then raise InferenceError."""

    @abstractmethod
    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """For each text, return a unit vector (norm 1), in the order of the texts.

        The vector of a text does not depend on the other texts. The number of texts is
        unlimited. Each call or model run has at most EMBEDDING_BATCH texts. Raises
        InferenceError if any text has no vector.
        """

    def token_starts(self, text: str) -> Sequence[int]:
        """Return the character at which each token of a text begins; an estimate by default."""
        return chunks.estimate_starts(text)

    def split(self, text: str) -> list[str]:
        """Split a text into its chunks, at least one (`inference.embedding.chunks`)."""
        return [text[start:end] for start, end in self.find_spans(text)]

    def find_spans(self, text: str) -> list[TextSpan]:
        """Return where the chunks of a text stand in it."""
        return chunks.find_spans(text, self.token_starts)


registry = Registry[Embedder](
    choice="EMBEDDING_PROVIDER",
    table={
        "minilm": "inference.embedding.minilm.MiniLM",
        "openai": "inference.embedding.openai_compatible.OpenAICompatible",
        "fake": "inference.embedding.fake.FakeEmbedder",
    },
    reads=[
        "EMBEDDING_MODEL",
        "EMBEDDING_URL",
        "EMBEDDING_API_KEY",
        "EMBEDDING_DIMENSIONS",
        "EMBEDDING_TIMEOUT",
    ],
)


def from_settings() -> Embedder:
    """The model that the settings name."""
    return registry.active()
