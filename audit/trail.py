"""Write rows of the audit trail, in the transaction of the action that they record."""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Iterable, Mapping
from typing import Any

from django.core.serializers.json import DjangoJSONEncoder

from audit.models import AuditEvent
from common.caller import Caller


def record(
    caller: Caller,
    verb: str,
    *,
    project_id: uuid.UUID | None = None,
    object_type: str = "",
    object_id: object = "",
    before: Mapping[str, Any] | None = None,
    after: Mapping[str, Any] | None = None,
    **detail: Any,
) -> AuditEvent:
    """Add one row, in the transaction of the action."""
    row = build_event(
        caller,
        verb,
        project_id=project_id,
        object_type=object_type,
        object_id=object_id,
        before=before,
        after=after,
        **detail,
    )
    row.save(force_insert=True)
    return row


def record_all(events: Iterable[AuditEvent]) -> None:
    """Add many rows at once, in the transaction of the actions."""
    AuditEvent.objects.bulk_create(events)


def build_event(
    caller: Caller,
    verb: str,
    *,
    project_id: uuid.UUID | None = None,
    object_type: str = "",
    object_id: object = "",
    before: Mapping[str, Any] | None = None,
    after: Mapping[str, Any] | None = None,
    **detail: Any,
) -> AuditEvent:
    """Build a row without saving it.

    For a state, the event stores only the hash. The text of the state is in the row's own
    history.
    """
    return AuditEvent(
        verb=verb,
        actor=caller.name[:200],
        key_id=caller.key_id,
        account_id=caller.account_id,
        agent_id=caller.agent_id,
        project_id=project_id,
        object_type=object_type,
        object_id=str(object_id)[:255],
        before_hash=hash_state(before),
        after_hash=hash_state(after),
        detail=detail,
        request_id=caller.request_id,
        address=caller.address,
    )


def hash_state(state: Mapping[str, Any] | None) -> str:
    if state is None:
        return ""
    text = json.dumps(state, cls=DjangoJSONEncoder, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()
