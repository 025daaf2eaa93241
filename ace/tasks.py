"""Celery imports this module in a worker; its imports register the job handlers."""

from __future__ import annotations

from ace import run, run_removal

__all__ = ["run", "run_removal"]
