"""A write that a client may send again, and the answer that it then gets.

The key's row is inserted first in the transaction of the write itself, in PostgreSQL,
because Redis may be flushed.
"""

from __future__ import annotations

import hashlib
import json
import re
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from django.db import OperationalError, connection
from psycopg.errors import LockNotAvailable
from rest_framework.utils.encoders import JSONEncoder

from access.models import IdempotencyKey
from common import errors
from common.caller import Caller
from common.db import write

KEY_PATTERN = re.compile(r"[\x20-\x7e]{1,255}")
LOCK_TIMEOUT = (
    "2s"  # for another request with the same key, before it is called running
)


class InvalidIdempotencyKey(errors.Refusal):
    """An Idempotency-Key is 1 to 255 printable ASCII characters; a UUID will do."""

    code = "invalid_idempotency_key"


class IdempotencyMismatch(errors.StateConflict):
    """This Idempotency-Key came with another body before; use a new key for it."""

    code = "idempotency_mismatch"


class IdempotencyRunning(errors.StateConflict):
    """A request with this Idempotency-Key is still running; ask again in a moment."""

    code = "idempotency_running"

    def __init__(self, detail: str | None = None, **extra: Any) -> None:
        super().__init__(detail, retry_after=1, **extra)


@dataclass(frozen=True)
class RequestIdentity:
    """What makes two requests the same one, and the body that they must share."""

    actor: str
    route: str
    project_id: uuid.UUID | None
    key: str
    body_hash: str

    @property
    def place(self) -> dict[str, Any]:
        return {
            "actor": self.actor,
            "route": self.route,
            "project_id": self.project_id,
            "key": self.key,
        }


@dataclass(frozen=True)
class StoredAnswer:
    """A stored answer; its status is None while the work goes on."""

    status: int | None
    body: Any
    is_replay: bool
    id: uuid.UUID


def identify_request(
    caller: Caller,
    *,
    route: str,
    path: str,
    project_id: uuid.UUID | None,
    key: str,
    body: Any,
) -> RequestIdentity:
    if not KEY_PATTERN.fullmatch(key):
        raise InvalidIdempotencyKey
    return RequestIdentity(
        actor=str(caller.key_id) if caller.key_id else caller.name,
        route=route[:200],
        project_id=project_id,
        key=key,
        body_hash=_hash({"path": path, "body": body}),
    )


def _hash(value: Any) -> str:
    text = json.dumps(value, cls=JSONEncoder, sort_keys=True)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def replay(ticket: RequestIdentity) -> StoredAnswer | None:
    """What a committed request with this key left; refused when its body differs."""
    row = IdempotencyKey.objects.filter(**ticket.place).first()
    if row is None:
        return None
    if row.body_hash != ticket.body_hash:
        raise IdempotencyMismatch
    return StoredAnswer(row.status, row.answer, is_replay=True, id=row.pk)


def claim(ticket: RequestIdentity, answer: Any = None) -> uuid.UUID | None:
    """Insert the key's row inside the caller's transaction; None when there is one.

    Waits for another open transaction with the same key, and refuses after that.
    `answer` is what a replay sees until `keep` is called, for work that spans more
    than one transaction.
    """
    row = IdempotencyKey(body_hash=ticket.body_hash, answer=answer, **ticket.place)
    with connection.cursor() as cursor:
        cursor.execute(f"SET LOCAL lock_timeout = '{LOCK_TIMEOUT}'")
        try:
            IdempotencyKey.objects.bulk_create([row], ignore_conflicts=True)
        except OperationalError as error:
            if isinstance(error.__cause__, LockNotAvailable):
                raise IdempotencyRunning from error
            raise
        cursor.execute("SET LOCAL lock_timeout = DEFAULT")
    return row.pk if IdempotencyKey.objects.filter(pk=row.pk).exists() else None


def store_answer(claimed: uuid.UUID, status: int, answer: Any) -> Any:
    """Store the answer of a claimed key; returns it as the client will see it."""
    plain = json.loads(json.dumps(answer, cls=JSONEncoder))
    IdempotencyKey.objects.filter(pk=claimed).update(status=status, answer=plain)
    return plain


@write
def run_once(
    ticket: RequestIdentity,
    act: Callable[[], tuple[int, Mapping[str, Any]]],
    *,
    hidden: tuple[str, ...] = (),
) -> StoredAnswer:
    """Claim the key, act and keep the answer in one transaction, or replay."""
    claimed = claim(ticket)
    if claimed is None:
        return _replay_finished(ticket)
    status, answer = act()
    store_answer(claimed, status, dict(answer) | dict.fromkeys(hidden))
    return StoredAnswer(status, answer, is_replay=False, id=claimed)


def _replay_finished(ticket: RequestIdentity) -> StoredAnswer:
    answer = replay(ticket)
    if answer is None or answer.status is None:
        raise IdempotencyRunning
    return answer
