"""The embedding model that searches use, as all processes know it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from common.db import Statement, execute_many
from common.locks import lock_in_transaction, shared_lock_statement
from inference.models import ActiveModel

CACHE_SECONDS = 2.0  # how long a process may go by what it knew
LOCK = "embedding model"
ACTIVE_NAME = "SELECT name FROM inference_activemodel"

_cache: tuple[float, ActiveModel | None] | None = None


def read() -> ActiveModel | None:
    """What is recorded, at most SECONDS old; None before the first vector."""
    global _cache
    now = time.monotonic()
    if _cache is None or now - _cache[0] > CACHE_SECONDS:
        _cache = (now, ActiveModel.objects.first())
    return _cache[1]


def forget() -> None:
    global _cache
    _cache = None


def pin(after: Sequence[Statement] = ()) -> str | None:
    """The active model's name, which cannot change until this transaction ends.

    Writers hold it together. It is read anew, after the lock, and these statements.
    """
    *_, rows = execute_many(*after, shared_lock_statement(LOCK), (ACTIVE_NAME, []))
    return rows[0][0] if rows else None


def lock() -> str | None:
    """As `hold`, while no writer of vectors is under way."""
    lock_in_transaction(LOCK)
    return ActiveModel.objects.values_list("name", flat=True).first()


def record_first(name: str, choice: dict[str, Any]) -> str:
    """Record the first model; which one it is, when two began at once."""
    first, _ = ActiveModel.objects.get_or_create(
        pk=ActiveModel.ONLY, defaults={"name": name, "choice": choice}
    )
    return first.name


def record(name: str, choice: dict[str, Any]) -> None:
    ActiveModel.objects.update_or_create(
        pk=ActiveModel.ONLY, defaults={"name": name, "choice": choice}
    )
    forget()
