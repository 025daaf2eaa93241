"""The database record of the active embedding model, with its lock and a short cache."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from common.db import Statement, execute_many
from common.locks import lock_in_transaction, shared_lock_statement
from inference.models import ActiveModel

CACHE_SECONDS = 2.0  # how long a process may use its cached record
LOCK = "embedding model"
ACTIVE_NAME = "SELECT name FROM inference_activemodel"

_cache: tuple[float, ActiveModel | None] | None = None


def read() -> ActiveModel | None:
    """Read the record, at most CACHE_SECONDS old; None before the first vector."""
    global _cache
    now = time.monotonic()
    if _cache is None or now - _cache[0] > CACHE_SECONDS:
        _cache = (now, ActiveModel.objects.first())
    return _cache[1]


def forget() -> None:
    global _cache
    _cache = None


def pin(before: Sequence[Statement] = ()) -> str | None:
    """Return the active model's name and keep it from changing in this transaction.

    Writers share the lock. The statements `before` run first. Then the lock is taken, and
    then the record is read.
    """
    *_, rows = execute_many(*before, shared_lock_statement(LOCK), (ACTIVE_NAME, []))
    return rows[0][0] if rows else None


def lock() -> str | None:
    """Return the active model's name under an exclusive lock, so that nobody writes vectors."""
    lock_in_transaction(LOCK)
    return ActiveModel.objects.values_list("name", flat=True).first()


def record_first(name: str, choice: dict[str, Any]) -> str:
    """Record the first model; return its name, or the name that a faster process recorded."""
    first, _ = ActiveModel.objects.get_or_create(
        pk=ActiveModel.ONLY, defaults={"name": name, "choice": choice}
    )
    return first.name


def record(name: str, choice: dict[str, Any], scale: dict[str, float] | None) -> None:
    columns = {"name": name, "choice": choice, "scale": scale}
    ActiveModel.objects.update_or_create(pk=ActiveModel.ONLY, defaults=columns)
    forget()


def record_scale(name: str, scale: dict[str, float] | None) -> None:
    ActiveModel.objects.filter(name=name).update(scale=scale)
    forget()
