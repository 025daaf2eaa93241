"""Redis for values that may be lost: short timeouts, and no calls during an outage."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from typing import TypeVar

import redis
import structlog
from django.conf import settings
from redis.backoff import NoBackoff
from redis.retry import Retry

T = TypeVar("T")

TIMEOUT = 0.25  # seconds; a healthy answer over the network takes a hundredth of this
AWAY_SECONDS = 10.0  # how long Redis is not called after a failure
WARN_INTERVAL = 60.0  # seconds

log = structlog.get_logger(__name__)


class Outage:
    """The times of the next call and of the next warning, while Redis does not answer."""

    until = 0.0
    warn_at = 0.0

    @classmethod
    def begin(cls, error: Exception) -> None:
        now = time.monotonic()
        cls.until = now + AWAY_SECONDS
        if now >= cls.warn_at:
            cls.warn_at = now + WARN_INTERVAL
            log.warning(
                "redis_away", error=str(error), unthrottled_seconds=AWAY_SECONDS
            )


@functools.lru_cache(maxsize=4)
def client(url: str) -> redis.Redis:
    return redis.Redis.from_url(
        url,
        socket_timeout=TIMEOUT,
        socket_connect_timeout=TIMEOUT,
        # One retry, for a connection that died in the pool.
        retry=Retry(NoBackoff(), 1),
    )


def call(work: Callable[[redis.Redis], T]) -> T | None:
    """Call a function with the Redis client; return None while Redis does not answer."""
    if time.monotonic() < Outage.until:
        return None
    try:
        return work(client(settings.REDIS_URL))
    except redis.RedisError as error:
        Outage.begin(error)
        return None
