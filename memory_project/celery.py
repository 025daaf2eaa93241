from __future__ import annotations

import os
from typing import Any

from celery import Celery
from celery.signals import beat_init, celeryd_init
from django.conf import settings

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memory_project.settings")

app = Celery("memory")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.conf.update(
    # Redis may lose anything, so only the table of jobs is reliable. A task is acknowledged
    # when a worker takes it, and `sweep` sends the task again when the job's lease runs
    # out.
    task_acks_late=False,
    task_ignore_result=True,
    task_publish_retry=False,
    worker_prefetch_multiplier=1,
    worker_hijack_root_logger=False,
    broker_connection_retry_on_startup=True,
    broker_transport_options={"socket_timeout": 30, "socket_connect_timeout": 1},
    timezone="UTC",
    beat_schedule={
        "sweep": {
            "task": "jobs.tasks.sweep",
            "schedule": settings.JOB_SWEEP_SECONDS,
            "options": {"expires": settings.JOB_SWEEP_SECONDS * 3},
        },
        "statistics": {"task": "memories.tasks.refresh_statistics", "schedule": 15},
        "playbook-statistics": {
            "task": "playbook.tasks.refresh_statistics",
            "schedule": 15,
        },
        "conversation-statistics": {
            "task": "conversations.tasks.refresh_statistics",
            "schedule": 15,
        },
        "conversation-retention": {
            "task": "conversations.tasks.retain",
            "schedule": 3600,
        },
        "agent-conversations": {
            "task": "agents.tasks.end_idle_conversations",
            "schedule": 60,
        },
        "reflections": {"task": "ace.tasks.ask_again", "schedule": 3600},
        "agent-interruptions": {
            "task": "agents.tasks.mark_interrupted_runs",
            "schedule": 60,
        },
        "playbook-tidying": {"task": "playbook.tasks.tidy", "schedule": 3600},
        "playbook-exposures": {
            "task": "playbook.tasks.forget_exposures",
            "schedule": 86400,
        },
        "hook-pushes": {"task": "mcp_server.tasks.forget_pushes", "schedule": 86400},
        "missing-vectors": {"task": "inference.tasks.embed_missing", "schedule": 300},
        "vector-indexes": {"task": "memories.tasks.care_for_indexes", "schedule": 60},
        "expiry": {"task": "memories.tasks.archive_expired", "schedule": 300},
        "compaction": {"task": "memories.tasks.compact", "schedule": 3600},
        "deduplication": {"task": "memories.tasks.deduplicate", "schedule": 3600},
        "pruning": {"task": "memories.tasks.prune_unrecalled", "schedule": 3600},
        "memory-exposures": {
            "task": "memories.tasks.forget_exposures",
            "schedule": 86400,
        },
        "duplicate-findings": {
            "task": "memories.tasks.forget_findings",
            "schedule": 86400,
        },
        "housekeeping": {"task": "access.tasks.housekeeping", "schedule": 3600},
    },
)
app.autodiscover_tasks()


@celeryd_init.connect
@beat_init.connect
def refuse_unservable(**kwargs: Any) -> None:
    # Imported only now: the apps are loaded.
    from memory_project import startup

    startup.refuse_unservable()
