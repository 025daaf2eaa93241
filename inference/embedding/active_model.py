from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import asdict
from functools import lru_cache
from typing import TypeVar

from common.db import Statement
from inference.embedding import model_record
from inference.embedding.embedder import (
    Embedder,
    EmbeddingChoice,
    from_settings,
    registry,
)
from inference.embedding.vector import Vector
from inference.errors import InferenceError, ProviderMisconfiguration

T = TypeVar("T")
V = TypeVar("V")

MAX_THREADS = 32  # threads, made when there is need of them
CACHED_QUERIES = 512  # about 12 KB each at 384 dimensions: 6 MB a process


class UnavailableEmbedder(Embedder):
    """A model that searches still use and that cannot be loaded any more."""

    dimensions = 0

    def __init__(self, choice: EmbeddingChoice, name: str, why: InferenceError) -> None:
        super().__init__(choice)
        self._name, self._why = name, why

    @property
    def name(self) -> str:
        return self._name

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        # Later another model may be the active one.
        raise ProviderMisconfiguration(
            f"{self.name} cannot be loaded: {self._why}", retryable=True
        )


def get() -> Embedder:
    """The model that searches and writes use: the recorded one, else the configured.

    A new model becomes the active one when every text has its vector (`reembed`).
    """
    recorded = model_record.read()
    if recorded is None:
        return from_settings()
    try:
        if from_settings().name == recorded.name:
            return from_settings()
    except InferenceError:
        pass  # the settings are wrong; searches can go on with what was recorded
    choice = EmbeddingChoice(**recorded.choice)
    return _load_recorded(choice, recorded.name, choice.key, os.getpid())


@lru_cache(maxsize=2)
def _load_recorded(choice: EmbeddingChoice, name: str, key: str, pid: int) -> Embedder:
    """A model that the settings name no more; made again when its key changes."""
    try:
        made = registry.made(choice.provider, choice)
    except InferenceError as error:
        return UnavailableEmbedder(choice, name, error)
    if made.name == name:
        return made
    return UnavailableEmbedder(
        choice, name, ProviderMisconfiguration(f"its provider now makes {made.name}.")
    )


def embed(texts: Sequence[str]) -> list[Vector]:
    """The active model's vectors of texts; raises InferenceError."""
    return embed_with(get(), texts)


def embed_with(model: Embedder, texts: Sequence[str]) -> list[Vector]:
    name = model.name
    return [Vector(values, model=name) for values in model.embed(texts)]


def embed_query(text: str) -> Vector:
    """Return the active model's vector of one text, remembering the recent ones.

    Raises InferenceError, which is not remembered."""
    return _embed_query_with(get(), text)


def begin_query(text: str) -> Future[Vector]:
    """Have `embed_query` done by another thread; the result raises what it raises.

    The model is looked up by this thread, as that may ask the database.
    """
    return _submit(_embed_query_with, text)


def begin_embed(texts: Sequence[str]) -> Future[list[Vector]]:
    """Have `embed` done by another thread, as `begin_query`."""
    return _submit(embed_with, texts)


def _submit(work: Callable[[Embedder, T], V], argument: T) -> Future[V]:
    try:
        model = get()
    except InferenceError as error:
        failed = Future[V]()
        failed.set_exception(error)
        return failed
    threads = _threads(os.getpid())
    return threads.submit(copy_context().run, work, model, argument)


@lru_cache(maxsize=1)
def _threads(pid: int) -> ThreadPoolExecutor:
    """The threads of this process, kept: the model's first run in one takes a third more."""
    return ThreadPoolExecutor(MAX_THREADS, "embedding")


def _embed_query_with(model: Embedder, text: str) -> Vector:
    return Vector(_cached_query(model, text), model=model.name)


def forget_queries() -> None:
    _cached_query.cache_clear()


@lru_cache(maxsize=CACHED_QUERIES)
def _cached_query(model: Embedder, text: str) -> tuple[float, ...]:
    return tuple(model.embed([text])[0])


def is_active(vector: Vector, after: Sequence[Statement] = ()) -> bool:
    """Whether the vector's model is the active one, until this transaction ends.

    The first vector of an installation makes its model the active one. These statements
    go in the same message, before the question.
    """
    name = model_record.pin(after)
    if name is None:
        model = from_settings()
        name = model_record.record_first(model.name, asdict(model.choice))
    if name != vector.model:
        model_record.forget()
    return name == vector.model


def activate(model: Embedder) -> None:
    """Make a model the active one; the caller holds the switch alone."""
    model_record.record(model.name, asdict(model.choice))
