"""Embeddings from any model of the optional package `fastembed`."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from inference.embedding.embedder import Embedder, EmbeddingChoice
from inference.embedding.vector import normalise
from inference.errors import BadAnswer, ProviderDown, ProviderMisconfiguration

DEFAULT_MODEL = "BAAI/bge-small-en-v1.5"
THREADS = 2  # several processes share the cores


class FastEmbed(Embedder):
    """A model of `fastembed`, which downloads it on first use."""

    def __init__(self, choice: EmbeddingChoice | None = None) -> None:
        super().__init__(choice)
        self._name: str = self.choice.model or DEFAULT_MODEL
        self._load_lock = threading.Lock()
        self._model: Any = None

    @property
    def name(self) -> str:
        return self._name

    @property
    def dimensions(self) -> int:
        try:
            return int(_text_embedding().get_embedding_size(self.name))
        except ValueError as error:
            raise ProviderMisconfiguration(
                f"fastembed has no model {self.name!r}."
            ) from error

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        if not texts:
            return []
        clean = [text.encode("utf-8", "replace").decode() for text in texts]
        # Each run has only one text, because a quantised model's vector depends on its
        # batch.
        rows = self._get_model().embed(clean, batch_size=1)
        vectors = [normalise(vector.tolist()) for vector in rows]
        if len(vectors) != len(texts):
            raise BadAnswer(
                "fastembed returned a different number of vectors than texts."
            )
        return vectors

    def _get_model(self) -> Any:
        with self._load_lock:
            if self._model is None:
                self._model = self._load()
            return self._model

    def _load(self) -> Any:
        width = self.dimensions  # refuses an unknown model before the download
        try:
            return _text_embedding()(model_name=self.name, threads=THREADS)
        except (OSError, ValueError) as error:
            raise ProviderDown(
                f"fastembed could not load {self.name} ({width} dimensions): {error}"
            ) from error


def _text_embedding() -> Any:
    try:
        return import_module("fastembed").TextEmbedding
    except ModuleNotFoundError as error:
        raise ProviderMisconfiguration(
            "EMBEDDING_PROVIDER=fastembed needs the package: pip install fastembed"
        ) from error
