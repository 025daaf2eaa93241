"""Celery imports this module in a worker; its imports register the job handlers."""

from __future__ import annotations

from context import config_removal

__all__ = ["config_removal"]
