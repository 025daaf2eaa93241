"""Celery imports this module in a worker; its imports register the job handlers."""

from __future__ import annotations

from agents import project_removal

__all__ = ["project_removal"]
