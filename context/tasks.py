"""Celery imports this in a worker: what it imports registers the work it can do."""

from __future__ import annotations

from context import config_removal

__all__ = ["config_removal"]
