"""Observe every operation of a store: a span, a structured line and a call of a hook."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import util
from typing import Any

import structlog

log = structlog.get_logger(__name__)

MAX_PREVIEW = 200  # characters of each value of a preview
HAS_SPANS = util.find_spec("opentelemetry") is not None


@dataclass(frozen=True)
class MemoryCall:
    """One finished operation of a store, for a hook.

    Only a hook gets `detail`, previews of the arguments and the answer; no log has them.
    """

    operation: str
    store: str
    duration_ms: float
    error: str = ""
    detail: Sequence[str] = ()


Hook = Callable[[MemoryCall], None]


class TracedStore:
    """A store whose operations are observed; `unwrap` returns the store inside."""

    def __init__(self, store: Any, hook: Hook | None = None) -> None:
        self._store = store
        self._hook = hook

    def unwrap(self) -> Any:
        return self._store

    @property
    def name(self) -> str:
        name: str = self._store.name
        return name

    def __getattr__(self, operation: str) -> Any:
        inner = getattr(self._store, operation)
        if not callable(inner):
            return inner
        return functools.partial(self._observe, operation, inner)

    def _observe(
        self, operation: str, inner: Callable[..., Any], *args: Any, **kwargs: Any
    ) -> Any:
        started = time.perf_counter()
        error, answer = "", None
        with _span(f"memory {operation}"):
            try:
                answer = inner(*args, **kwargs)
                return answer
            except Exception as failure:
                error = type(failure).__name__
                raise
            finally:
                duration = round((time.perf_counter() - started) * 1000, 1)
                self._report(operation, duration, error, [*args, answer])

    def _report(
        self, operation: str, duration: float, error: str, values: Sequence[Any]
    ) -> None:
        log.info(
            "memory_call",
            operation=operation,
            store=self.name,
            duration_ms=duration,
            error=error,
        )
        if self._hook:
            detail = tuple(repr(value)[:MAX_PREVIEW] for value in values)
            self._hook(MemoryCall(operation, self.name, duration, error, detail))


@contextmanager
def _span(name: str) -> Iterator[None]:
    """Open a span, where the optional package of OpenTelemetry is installed."""
    if not HAS_SPANS:
        yield
        return
    from opentelemetry import trace

    with trace.get_tracer(__name__).start_as_current_span(name):
        yield


def unwrap(store: Any) -> Any:
    """Return the innermost store."""
    while isinstance(store, TracedStore):
        store = store.unwrap()
    return store
