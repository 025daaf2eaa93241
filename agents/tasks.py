"""Periodic tasks of the agent.

Importing this module registers the job handlers of the agent.
"""

from __future__ import annotations

from celery import shared_task

from agents import project_removal
from agents.learning import conversation_job, invocation_job, transcript_job
from agents.runs import interruption, run_job
from jobs.models import Heartbeat
from projects.models import Project

__all__ = [
    "conversation_job",
    "end_idle_conversations",
    "invocation_job",
    "mark_interrupted_runs",
    "project_removal",
    "run_job",
    "transcript_job",
]


@shared_task
def end_idle_conversations() -> None:
    """End the conversations and transcripts that nobody has gone on with, to learn from them."""
    for project in Project.objects.live():
        conversation_job.end_idle(project)
        transcript_job.end_idle(project)
    Heartbeat.beat("agent_conversations")


@shared_task
def mark_interrupted_runs() -> None:
    """Mark the runs whose process is gone."""
    interruption.mark_interrupted()
    Heartbeat.beat("agent_interruptions")
