"""Stop asking a summarizer that fails again and again.

The count is in Redis, which may lose it; then the summarizer is simply asked again.
"""

from __future__ import annotations

import uuid

import redis

from common import best_effort_redis, errors

MAX_FAILURES = 5  # failures in a row, after which the circuit is open (07a, section 6)
OPEN_SECONDS = 30 * 60  # how long the circuit stays open


class SummarizerUnavailable(errors.Refusal):
    """The summarizer failed five times in a row and is not asked for half an hour."""

    status = 503
    code = "summarizer_unavailable"


def seconds_open(project_id: uuid.UUID) -> int:
    """Return for how long the circuit of a project stays open; 0 if it is closed."""

    def read(client: redis.Redis) -> int:
        count = int(client.get(_key(project_id)) or 0)
        return int(client.ttl(_key(project_id))) if count >= MAX_FAILURES else 0

    return max(best_effort_redis.call(read) or 0, 0)


def refuse_if_open(project_id: uuid.UUID) -> None:
    if seconds := seconds_open(project_id):
        raise SummarizerUnavailable(retry_after=seconds)


def note_failure(project_id: uuid.UUID) -> None:
    def add(client: redis.Redis) -> None:
        client.incr(_key(project_id))
        client.expire(_key(project_id), OPEN_SECONDS)

    best_effort_redis.call(add)


def note_success(project_id: uuid.UUID) -> None:
    best_effort_redis.call(lambda client: client.delete(_key(project_id)))


def _key(project_id: uuid.UUID) -> str:
    return f"compaction-failures:{project_id}"
