"""Celery imports this in a worker: what it imports registers the work it can do."""

from __future__ import annotations

from ace import run, run_removal

__all__ = ["run", "run_removal"]
