"""Embeddings from an endpoint that speaks OpenAI's API."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from django.conf import settings

from inference.embedding.embedder import Embedder, EmbeddingChoice
from inference.embedding.vector import batches, normalise
from inference.errors import BadAnswer, ProviderMisconfiguration, RequestRefusal

if TYPE_CHECKING:
    from inference.endpoint import Endpoint

# Longer texts are cut to this length. It is under the 8,191 tokens of hosted models, even
# for CJK text.
MAX_CHARACTERS = 8000
# A refused text is cut to this length and sent again. It is under the 512 tokens of small
# models.
RETRY_CHARACTERS = 500
TOO_LONG = {400, 413, 422}  # statuses with which servers refuse a text as too long


class OpenAICompatible(Embedder):
    """Any endpoint that speaks OpenAI's embeddings API, hosted or local."""

    def __init__(self, choice: EmbeddingChoice | None = None) -> None:
        super().__init__(choice)
        if not self.choice.url or not self.choice.model:
            raise ProviderMisconfiguration(
                "EMBEDDING_PROVIDER=openai needs EMBEDDING_URL and EMBEDDING_MODEL."
            )
        self._model: str = self.choice.model
        self._requested: int | None = self.choice.dimensions
        self._observed: int | None = None

    @property
    def name(self) -> str:
        """The model's name; with EMBEDDING_DIMENSIONS it includes the width, as in `m@512`."""
        return f"{self._model}@{self._requested}" if self._requested else self._model

    @property
    def dimensions(self) -> int:
        known = self._requested or self._observed
        return known or len(self.embed(["How many dimensions?"])[0])

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        vectors: list[list[float]] = []
        for batch in batches(texts, size=settings.EMBEDDING_BATCH):
            vectors += self._batch([text[:MAX_CHARACTERS] for text in batch])
        return vectors

    def _batch(self, texts: Sequence[str]) -> list[list[float]]:
        try:
            return self._call(texts)
        except RequestRefusal as refusal:
            if refusal.status not in TOO_LONG:
                raise
        # The texts are sent one by one, so that a long text does not change the other
        # vectors.
        return [self._embed_one(text) for text in texts]

    def _embed_one(self, text: str) -> list[float]:
        try:
            return self._call([text])[0]
        except RequestRefusal as refusal:
            if refusal.status not in TOO_LONG or len(text) <= RETRY_CHARACTERS:
                raise
        return self._call([text[:RETRY_CHARACTERS]])[0]

    def _call(self, texts: Sequence[str]) -> list[list[float]]:
        body: dict[str, object] = {
            "model": self._model,
            # A lone surrogate has no UTF-8 form.
            "input": [text.encode("utf-8", "replace").decode() for text in texts],
            "encoding_format": "float",
        }
        if self._requested:
            body["dimensions"] = self._requested
        answer = self._endpoint.post("/embeddings", body)
        return self._check_width(
            [normalise(row) for row in vectors_in_order(answer, count=len(texts))]
        )

    def _check_width(self, vectors: list[list[float]]) -> list[list[float]]:
        expected = self._requested or self._observed or len(vectors[0])
        for vector in vectors:
            if len(vector) != expected:
                raise BadAnswer(
                    f"The embedding provider's vector has {len(vector)} dimensions; "
                    f"expected {expected}. Is EMBEDDING_DIMENSIONS right?",
                    retryable=False,
                )
        self._observed = expected
        return vectors

    @cached_property
    def _endpoint(self) -> Endpoint:
        from inference.endpoint import Endpoint  # takes a second

        return Endpoint(
            url=self.choice.url,
            key=self.choice.key,
            timeout=settings.EMBEDDING_TIMEOUT,
        )


def vectors_in_order(answer: Any, *, count: int) -> list[Any]:
    """Return the vectors of an answer in the order of the texts, without checking the vectors."""
    try:
        rows = {row["index"]: row["embedding"] for row in answer["data"]}
    except (KeyError, TypeError) as error:
        raise BadAnswer("The embedding provider's answer has no vectors.") from error
    if len(answer["data"]) != count or set(rows) != set(range(count)):
        raise BadAnswer(
            f"The embedding provider answered {len(answer['data'])} vectors "
            f"for {count} texts, or numbered them wrongly."
        )
    return [rows[place] for place in range(count)]
