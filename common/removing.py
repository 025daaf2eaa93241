"""Removes rows that have served their time."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet

BATCH = 5_000  # rows deleted in one statement


def remove(rows: QuerySet[Any]) -> None:
    """Delete in batches: one huge statement would hold its locks too long."""
    while True:
        batch = list(rows.order_by("pk").values_list("pk", flat=True)[:BATCH])
        if not batch:
            return
        rows.model._base_manager.filter(pk__in=batch).delete()
