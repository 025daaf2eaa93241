"""Sources of memory that failed: what each says, while the others are still read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from typing import TypeVar

import structlog
from django.db import Error, connection, transaction
from prometheus_client import Counter

from agents.recall.recalled_memory import RecalledMemory
from common import errors
from common.text import plain_text
from inference.errors import InferenceError

T = TypeVar("T")

MAX_MESSAGE = 300  # characters of what a source says

log = structlog.get_logger(__name__)
FAILURES = Counter(
    "memory_recall_failures",
    "Sources of memory that an answer of the agent went without, by the kind of failure.",
    ["source", "kind"],  # refused | bug
)


class SourceFailures:
    """Asks sources, and keeps what those say that fail."""

    def __init__(self) -> None:
        self._messages: list[str] = []

    def ask(self, name: str, source: Callable[[], T], otherwise: T) -> T:
        """Return what the source says; `otherwise` if it fails."""
        with self.collect(name):
            return source()
        return otherwise

    @contextmanager
    def collect(self, name: str) -> Iterator[None]:
        """Keep the failure of a block; a transaction around it can go on.

        An answer does not need its memory, so that a bug costs no more than its source. Its
        words may quote a row, so that the log alone has them.
        """
        try:
            with transaction.atomic() if connection.in_atomic_block else nullcontext():
                yield
        except (errors.Refusal, InferenceError, Error) as error:
            log.warning("recall_source_failed", source=name, error=str(error))
            FAILURES.labels(name, "refused").inc()
            self.add(f"{name}: {error}")
        except Exception as error:
            log.exception("recall_source_broken", source=name)
            FAILURES.labels(name, "bug").inc()
            self.add(f"{name}: {type(error).__name__}; the log of the service says why")

    def add(self, message: str) -> None:
        self._messages.append(plain_text.clip(message, MAX_MESSAGE))

    def add_to(self, recalled: RecalledMemory) -> RecalledMemory:
        """Return the memory with these failures after its own."""
        found = dict.fromkeys([*recalled.errors, *self._messages])
        return replace(recalled, errors=tuple(found))
