"""Give signs that the process of a run is alive, while a model or a tool is silent."""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

import structlog
from django.db import Error, connection
from django.utils import timezone

from agents.models import AgentRun

log = structlog.get_logger(__name__)

INTERVAL = 10.0  # seconds between two signs
# A process that gave no sign for so long is gone; a busy one may miss some.
MAX_SILENCE = timedelta(seconds=60)
# Seconds that a step may take which began just within `agents.max_seconds`.
LONGEST_STEP = 300.0


@contextmanager
def beat(run: AgentRun) -> Iterator[None]:
    """Update `alive_at` from a thread while the block runs.

    A run that goes on for longer than it may hangs: it gives no more signs, and is marked
    as if its process were gone.
    """
    most = run.project.options.agents.max_seconds + LONGEST_STEP
    is_over = threading.Event()
    thread = threading.Thread(
        target=_beat,
        args=(run.pk, is_over, time.monotonic() + most),
        daemon=True,
        name="agent-heartbeat",
    )
    thread.start()
    try:
        yield
    finally:
        is_over.set()


def _beat(run_id: uuid.UUID, is_over: threading.Event, until: float) -> None:
    rows = AgentRun.objects.filter(pk=run_id, status=AgentRun.RunStatus.RUNNING)
    while not is_over.wait(INTERVAL) and time.monotonic() < until:
        try:
            rows.update(alive_at=timezone.now())
        # The database may be back before the next sign.
        except Error as error:
            log.warning("agent_heartbeat_failed", run_id=str(run_id), error=str(error))
        finally:
            connection.close()  # it would be idle until the next sign
