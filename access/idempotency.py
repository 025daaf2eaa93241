"""Idempotency keys: a client that repeats a write gets the first answer again.

The transaction of the write first inserts a row for the key. The row is in PostgreSQL,
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
from common.secret_masks import mask_value

KEY_PATTERN = re.compile(r"[\x20-\x7e]{1,255}")
LOCK_TIMEOUT = "2s"  # the wait for another open transaction with the same key


class InvalidIdempotencyKey(errors.Refusal):
    """An Idempotency-Key is 1 to 255 printable ASCII characters, such as a UUID."""

    code = "invalid_idempotency_key"


class IdempotencyMismatch(errors.StateConflict):
    """This Idempotency-Key was sent with another body before; use a new key."""

    code = "idempotency_mismatch"


class IdempotencyRunning(errors.StateConflict):
    """A request with this Idempotency-Key is still running; try again in a moment."""

    code = "idempotency_running"

    def __init__(self, detail: str | None = None, **extra: Any) -> None:
        super().__init__(detail, retry_after=1, **extra)


@dataclass(frozen=True)
class RequestIdentity:
    """The values that identify a repeated request, and the hash of its body."""

    actor: str
    route: str
    project_id: uuid.UUID | None
    key: str
    body_hash: str

    @property
    def lookup(self) -> dict[str, Any]:
        return {
            "actor": self.actor,
            "route": self.route,
            "project_id": self.project_id,
            "key": self.key,
        }


@dataclass(frozen=True)
class StoredAnswer:
    """A stored answer; the status is None while the request is still running."""

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
        actor=str(caller.line_id or caller.key_id or caller.name),
        route=route[:200],
        project_id=project_id,
        key=mask_value(key, "key")[0][:255],
        body_hash=_hash({"path": path, "body": body}),
    )


def _hash(value: Any) -> str:
    text = json.dumps(value, cls=JSONEncoder, sort_keys=True)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def replay(identity: RequestIdentity) -> StoredAnswer | None:
    """Return the answer of a committed request with this key; refuse another body."""
    row = IdempotencyKey.objects.filter(**identity.lookup).first()
    if row is None:
        return None
    if row.body_hash != identity.body_hash:
        raise IdempotencyMismatch
    return StoredAnswer(row.status, row.answer, is_replay=True, id=row.pk)


def claim(identity: RequestIdentity, answer: Any = None) -> uuid.UUID | None:
    """Insert the key's row in the caller's transaction; return None if the key has one.

    If another open transaction has the same key, wait for that transaction and then refuse.
    `answer` is for work that takes more than one transaction: a replay gets `answer` until
    `store_answer` is called.
    """
    row = IdempotencyKey(body_hash=identity.body_hash, answer=answer, **identity.lookup)
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


def store_answer(key_id: uuid.UUID, status: int, answer: Any) -> Any:
    """Store the answer of a claimed key; return the answer as the client will see it."""
    plain = json.loads(json.dumps(answer, cls=JSONEncoder))
    IdempotencyKey.objects.filter(pk=key_id).update(status=status, answer=plain)
    return plain


@write
def run_once(
    identity: RequestIdentity,
    act: Callable[[], tuple[int, Mapping[str, Any]]],
    *,
    hidden: tuple[str, ...] = (),
) -> StoredAnswer:
    """Claim the key, act and store the answer in one transaction, or replay the answer."""
    key_id = claim(identity)
    if key_id is None:
        return _replay_complete(identity)
    status, answer = act()
    store_answer(key_id, status, dict(answer) | dict.fromkeys(hidden))
    return StoredAnswer(status, answer, is_replay=False, id=key_id)


def _replay_complete(identity: RequestIdentity) -> StoredAnswer:
    answer = replay(identity)
    if answer is None or answer.status is None:
        raise IdempotencyRunning
    return answer
