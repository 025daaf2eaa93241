"""Stop asking a summarizer that fails again and again.

The count is in Redis, which may lose it; then the summarizer is simply asked again.
"""

from __future__ import annotations

import uuid

import redis

from common import best_effort_redis

MAX_FAILURES = 5  # failures in a row, after which the circuit is open (07a, section 6)
OPEN_SECONDS = 30 * 60  # how long the circuit stays open


def is_open(project_id: uuid.UUID) -> bool:
    count = best_effort_redis.call(lambda client: client.get(_key(project_id)))
    return int(count or 0) >= MAX_FAILURES


def note_failure(project_id: uuid.UUID) -> None:
    def add(client: redis.Redis) -> None:
        client.incr(_key(project_id))
        client.expire(_key(project_id), OPEN_SECONDS)

    best_effort_redis.call(add)


def note_success(project_id: uuid.UUID) -> None:
    best_effort_redis.call(lambda client: client.delete(_key(project_id)))


def _key(project_id: uuid.UUID) -> str:
    return f"compaction-failures:{project_id}"
