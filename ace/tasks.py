"""Celery imports this module in a worker; its imports register the job handlers."""

from __future__ import annotations

from celery import shared_task

from ace import run, run_removal
from ace.lessons import reflection_job, reflections
from jobs.models import Heartbeat
from projects.models import Project

__all__ = ["ask_again", "reflection_job", "run", "run_removal"]


@shared_task
def ask_again() -> None:
    """Let workers ask the language model what it could not answer before; forget what is old."""
    for project in Project.objects.live():
        reflections.prune(project)
        reflections.enqueue_waiting(project)
    Heartbeat.beat("reflections")
