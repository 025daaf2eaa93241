"""Notify a worker of a job; a write never waits for a broker that does not answer."""

from __future__ import annotations

import functools
import time
import uuid

import structlog
from celery import current_app
from kombu import Connection, pools
from kombu.exceptions import KombuError

RUN_TASK = "jobs.tasks.run"
# In seconds. A healthy broker answers in a hundredth of this time. Celery's own broker
# settings are for workers, which wait much longer in one blocking read.
TIMEOUT = 0.25
AWAY_SECONDS = (
    10.0  # seconds for which nobody asks again: as long as the sweep takes to come by
)

log = structlog.get_logger(__name__)


class BrokerOutage:
    """The time until which no thread calls the broker."""

    until = 0.0


@functools.lru_cache(maxsize=4)
def connection(url: str) -> Connection:
    return Connection(
        url,
        connect_timeout=TIMEOUT,
        transport_options={
            "socket_timeout": TIMEOUT,
            "socket_connect_timeout": TIMEOUT,
            "max_retries": 1,
            "interval_start": 0,
            "interval_step": 0,
            "interval_max": 0,
        },
    )


def wake_worker(job_id: uuid.UUID) -> None:
    """Send a job's id to a worker; if that fails, the next sweep finds the job."""
    if time.monotonic() < BrokerOutage.until:
        return
    try:
        with pools.producers[connection(current_app.conf.broker_url)].acquire(
            block=True, timeout=TIMEOUT
        ) as producer:
            current_app.send_task(
                RUN_TASK, [str(job_id)], producer=producer, retry=False
            )
    except (KombuError, OSError) as error:
        BrokerOutage.until = time.monotonic() + AWAY_SECONDS
        log.warning("job_wake_failed", job_id=str(job_id), error=str(error))
