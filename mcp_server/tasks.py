"""Periodic tasks of the doors; importing this module registers the deletion of a project."""

from __future__ import annotations

from celery import shared_task

from jobs.models import Heartbeat
from mcp_server import project_removal
from mcp_server.hooks import pushes

__all__ = ["forget_pushes", "project_removal"]


@shared_task
def forget_pushes() -> None:
    """Delete old records of what hooks gave."""
    pushes.delete_old()
    Heartbeat.beat("hook_pushes")
