"""Periodic tasks of the agent.

Importing this module registers the job handlers of the agent.
"""

from __future__ import annotations

from celery import shared_task

from agents import project_removal
from agents.learning import conversation_job, invocation_job
from jobs.models import Heartbeat
from projects.models import Project

__all__ = [
    "conversation_job",
    "end_idle_conversations",
    "invocation_job",
    "project_removal",
]


@shared_task
def end_idle_conversations() -> None:
    """End the conversations that nobody has gone on with, so that they are learned from."""
    for project in Project.objects.live():
        conversation_job.end_idle(project)
    Heartbeat.beat("agent_conversations")
