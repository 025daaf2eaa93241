from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import TypeVar

from django.conf import settings

from common.db import Statement
from inference import switching
from inference.errors import InferenceError, Misconfigured
from inference.registry import Registry
from inference.vectors import Vector

T = TypeVar("T")
V = TypeVar("V")

AT_ONCE = 32  # threads, made when there is need of them
QUERIES_KEPT = 512  # about 12 KB each at 384 dimensions: 6 MB a process


@dataclass(frozen=True)
class Choice:
    """Which model makes vectors and where it runs, without its key."""

    provider: str
    model: str
    url: str
    dimensions: int | None

    @classmethod
    def of_settings(cls) -> Choice:
        return cls(
            settings.EMBEDDING_PROVIDER,
            settings.EMBEDDING_MODEL,
            settings.EMBEDDING_URL,
            settings.EMBEDDING_DIMENSIONS,
        )

    @property
    def key(self) -> str:
        """No endpoint is sent the key of another."""
        if self.url == settings.EMBEDDING_URL:
            return str(settings.EMBEDDING_API_KEY)
        return str(settings.EMBEDDING_PREVIOUS_API_KEY)


class Embedder(ABC):
    """Turns texts into vectors; one instance serves all threads of a process."""

    def __init__(self, choice: Choice | None = None) -> None:
        """`choice` is that of the settings, unless another is meant."""
        self.choice = choice or Choice.of_settings()

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


class Gone(Embedder):
    """A model that searches still use and that cannot be loaded any more."""

    dimensions = 0

    def __init__(self, choice: Choice, name: str, why: InferenceError) -> None:
        super().__init__(choice)
        self._name, self._why = name, why

    @property
    def name(self) -> str:
        return self._name

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        # Later another model may be the active one.
        raise Misconfigured(
            f"{self.name} cannot be loaded: {self._why}", retryable=True
        )


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


def configured() -> Embedder:
    """The model that the settings name."""
    return registry.active()


def active() -> Embedder:
    """The model that searches and writes use: the recorded one, else the configured.

    A new model becomes the active one when every text has its vector (`reembed`).
    """
    recorded = switching.recorded()
    if recorded is None:
        return configured()
    try:
        if configured().name == recorded.name:
            return configured()
    except InferenceError:
        pass  # the settings are wrong; searches can go on with what was recorded
    choice = Choice(**recorded.choice)
    return _other(choice, recorded.name, choice.key, os.getpid())


@lru_cache(maxsize=2)
def _other(choice: Choice, name: str, key: str, pid: int) -> Embedder:
    """A model that the settings name no more; made again when its key changes."""
    try:
        made = registry.made(choice.provider, choice)
    except InferenceError as error:
        return Gone(choice, name, error)
    if made.name == name:
        return made
    return Gone(choice, name, Misconfigured(f"its provider now makes {made.name}."))


def embed(texts: Sequence[str]) -> list[Vector]:
    """The active model's vectors of texts; raises InferenceError."""
    return embed_by(active(), texts)


def embed_by(model: Embedder, texts: Sequence[str]) -> list[Vector]:
    name = model.name
    return [Vector(values, model=name) for values in model.embed(texts)]


def embed_query(text: str) -> Vector:
    """Return the active model's vector of one text, remembering the recent ones.

    Raises InferenceError, which is not remembered."""
    return _query_by(active(), text)


def begin_query(text: str) -> Future[Vector]:
    """Have `embed_query` done by another thread; the result raises what it raises.

    The model is looked up by this thread, as that may ask the database.
    """
    return _begun(_query_by, text)


def begin(texts: Sequence[str]) -> Future[list[Vector]]:
    """Have `embed` done by another thread, as `begin_query`."""
    return _begun(embed_by, texts)


def _begun(work: Callable[[Embedder, T], V], argument: T) -> Future[V]:
    try:
        model = active()
    except InferenceError as error:
        failed = Future[V]()
        failed.set_exception(error)
        return failed
    threads = _threads(os.getpid())
    return threads.submit(copy_context().run, work, model, argument)


@lru_cache(maxsize=1)
def _threads(pid: int) -> ThreadPoolExecutor:
    """The threads of this process, kept: the model's first run in one takes a third more."""
    return ThreadPoolExecutor(AT_ONCE, "embedding")


def _query_by(model: Embedder, text: str) -> Vector:
    return Vector(_remembered(model, text), model=model.name)


def forget_queries() -> None:
    _remembered.cache_clear()


@lru_cache(maxsize=QUERIES_KEPT)
def _remembered(model: Embedder, text: str) -> tuple[float, ...]:
    return tuple(model.embed([text])[0])


def is_active(vector: Vector, after: Sequence[Statement] = ()) -> bool:
    """Whether the vector's model is the active one, until this transaction ends.

    The first vector of an installation makes its model the active one. These statements
    go in the same message, before the question.
    """
    name = switching.hold(after)
    if name is None:
        model = configured()
        name = switching.begin(model.name, asdict(model.choice))
    if name != vector.model:
        switching.forget()
    return name == vector.model


def activate(model: Embedder) -> None:
    """Make a model the active one; the caller holds the switch alone."""
    switching.record(model.name, asdict(model.choice))
