"""The active embedding model: the one whose vectors searches and writes use."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import asdict
from functools import lru_cache, partial
from itertools import islice
from typing import Any, TypeVar

from common.db import Statement
from common.text.text_spans import TextSpan
from inference.embedding import calibration, model_record
from inference.embedding.calibration import BUNDLED, Scale
from inference.embedding.embedder import (
    Embedder,
    EmbeddingChoice,
    from_settings,
    registry,
)
from inference.embedding.query_cache import QueryCache
from inference.embedding.vector import Vector
from inference.errors import InferenceError, ProviderMisconfiguration
from jobs import errors as job_errors
from jobs import queue, runner

T = TypeVar("T")
V = TypeVar("V")

CALIBRATE = "calibrate"
MAX_THREADS = 32  # started on demand
CACHED_QUERIES = 512  # a query takes about 12 KB at 384 dimensions: 6 MB per process


class UnavailableEmbedder(Embedder):
    """An active model that can no longer be loaded."""

    dimensions = 0

    def __init__(self, choice: EmbeddingChoice, name: str, why: InferenceError) -> None:
        super().__init__(choice)
        self._name, self._why = name, why

    @property
    def name(self) -> str:
        return self._name

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        # The error is retryable, because another model may become the active one.
        raise ProviderMisconfiguration(
            f"{self.name} cannot be loaded: {self._why}", retryable=True
        )


def get() -> Embedder:
    """Return the recorded model, or the model of the settings if none is recorded.

    A new model becomes the active one when every text has a vector of the new model
    (`reembed`).
    """
    recorded = model_record.read()
    if recorded is None:
        return from_settings()
    try:
        if from_settings().name == recorded.name:
            return from_settings()
    except InferenceError:
        pass  # the settings are wrong; searches go on with the recorded model
    choice = EmbeddingChoice(**recorded.choice)
    return _load_recorded(choice, recorded.name, choice.key, os.getpid())


def find_name() -> str:
    """Return the name of the active model, or an empty text if no model can be loaded.

    In the second case no text has a vector, because the first vector records its model.
    """
    if recorded := model_record.read():
        return recorded.name
    try:
        return from_settings().name
    except InferenceError:
        return ""


@lru_cache(maxsize=2)
def _load_recorded(choice: EmbeddingChoice, name: str, key: str, pid: int) -> Embedder:
    """Load a model that the settings no longer name; load it again when its key changes."""
    try:
        model = registry.create(choice.provider, choice)
    except InferenceError as error:
        return UnavailableEmbedder(choice, name, error)
    if model.name == name:
        return model
    return UnavailableEmbedder(
        choice, name, ProviderMisconfiguration(f"its provider now makes {model.name}.")
    )


def embed(texts: Sequence[str]) -> list[Vector]:
    """Embed texts with the active model; raises InferenceError."""
    return embed_with(get(), texts)


def embed_with(model: Embedder, texts: Sequence[str]) -> list[Vector]:
    name = model.name
    return [Vector(values, model=name) for values in model.embed(texts)]


def embed_chunks(texts: Sequence[str]) -> list[list[Vector]]:
    """Embed every chunk of texts with the active model; raises InferenceError."""
    return embed_chunks_with(get(), texts)


def embed_chunks_with(model: Embedder, texts: Sequence[str]) -> list[list[Vector]]:
    """Like `embed_chunks`; a vector of several has the span of its chunk."""
    spans = [model.find_spans(text) for text in texts]
    parts = [
        text[start:end]
        for text, found in zip(texts, spans, strict=True)
        for start, end in found
    ]
    vectors = iter(embed_with(model, parts))
    return [_with_spans(list(islice(vectors, len(found))), found) for found in spans]


def _with_spans(vectors: Sequence[Vector], spans: Sequence[TextSpan]) -> list[Vector]:
    if len(vectors) == 1:
        return list(vectors)
    return [
        Vector(vector, model=vector.model, span=span)
        for vector, span in zip(vectors, spans, strict=True)
    ]


def embed_query(text: str) -> Vector:
    """Embed one text with the active model, with a cache of recent texts.

    Raises InferenceError, which is not cached."""
    return _embed_query_with(get(), text)


def begin_query(text: str) -> Future[Vector]:
    """Run `embed_query` in another thread; the returned future raises its errors.

    The calling thread looks up the model, because the look-up may query the database.
    """
    return _submit(_embed_query_with, text)


def begin_queries(texts: Sequence[str]) -> list[Future[Vector]]:
    """Run `embed_query` of several texts in another thread, with one call of the model.

    Every future raises the error of the call.
    """
    batch = _submit(_embed_queries_with, tuple(texts))
    futures = [Future[Vector]() for _ in texts]
    batch.add_done_callback(partial(_share_out, futures))
    return futures


def _share_out(futures: Sequence[Future[Vector]], batch: Future[list[Vector]]) -> None:
    error = batch.exception()
    for at, future in enumerate(futures):
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(batch.result()[at])


def begin_chunks(texts: Sequence[str]) -> Future[list[list[Vector]]]:
    """Run `embed_chunks` in another thread, as `begin_query` does."""
    return _submit(embed_chunks_with, texts)


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
    """Return the threads of this process; they stay, because a first run in a thread is slow."""
    return ThreadPoolExecutor(MAX_THREADS, "embedding")


def _embed_query_with(model: Embedder, text: str) -> Vector:
    return _embed_queries_with(model, (text,))[0]


def _embed_queries_with(model: Embedder, texts: Sequence[str]) -> list[Vector]:
    found = {text: _queries.get(model, text) for text in texts}
    missing = [text for text, vector in found.items() if vector is None]
    if missing:
        for text, values in zip(missing, model.embed(missing), strict=True):
            found[text] = tuple(values)
            _queries.put(model, text, tuple(values))
    return [Vector(found[text] or (), model=model.name) for text in texts]


_queries = QueryCache(CACHED_QUERIES)


def forget_queries() -> None:
    _queries.clear()


def is_active(vector: Vector, before: Sequence[Statement] = ()) -> bool:
    """Return whether the vector's model is the active one, and pin the active model.

    The active model cannot change until this transaction ends. The first vector of an
    installation makes its model the active one. The statements `before` run first, in the
    same round trip.
    """
    name = model_record.pin(before)
    if name is None:
        model = from_settings()
        name = model_record.record_first(model.name, asdict(model.choice))
        if model.has_own_scale:
            queue.enqueue(CALIBRATE, key=name)
    if name != vector.model:
        model_record.forget()
    return name == vector.model


def activate(model: Embedder, scale: Scale | None) -> None:
    """Make a model the active one; the caller holds the exclusive lock of the record."""
    stored = scale.to_json() if scale else None
    model_record.record(model.name, asdict(model.choice), stored)


def scale_of(model: str) -> Scale:
    """Return the scale of a model's cosines: the bundled model's own if none was measured."""
    recorded = model_record.read()
    if recorded is None or recorded.name != model:
        return BUNDLED
    return Scale.read(recorded.scale) or BUNDLED


def has_scale(model: str) -> bool:
    """Whether a model's similarities may decide that two texts are one.

    Until a model's own scale is measured, its cosines are read on the bundled model's scale,
    on which those of another model may be far too high. Raises InferenceError.
    """
    recorded = model_record.read()
    if recorded and recorded.name == model and recorded.scale:
        return True
    return not get().has_own_scale


def measure_scale(model: Embedder) -> Scale | None:
    """Measure the scale of a model, if it has its own; raises InferenceError."""
    return calibration.measure(model) if model.has_own_scale else None


@runner.handler(CALIBRATE, attempts=20)
def calibrate(run: runner.JobRun) -> dict[str, Any]:
    """Measure and record the scale of the active model."""
    model = get()
    try:
        scale = measure_scale(model)
    except InferenceError as error:
        kind = job_errors.Later if error.retryable else job_errors.Permanent
        raise kind(str(error)) from error
    stored = scale.to_json() if scale else None
    model_record.record_scale(model.name, stored)
    return {"model": model.name, "scale": stored}
