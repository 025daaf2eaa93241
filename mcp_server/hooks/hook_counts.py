"""Count the events of each key and harness."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from django.db.models import F
from django.utils import timezone

from common.caller import Caller, Role
from common.db import write
from mcp_server.hooks.hook_event import EventKind
from mcp_server.models import HookCount
from projects.models import Project


@dataclass(frozen=True)
class HookStatus:
    """What a harness has sent with a key: the last event, and how many of each kind."""

    harness: str
    agent_id: str
    key_id: str
    last_event: str
    last_at: datetime
    events: Mapping[str, int]


@write
def count(project: Project, harness: str, kind: EventKind, caller: Caller) -> None:
    """Count an event. Without a key the caller is a person, who is not counted."""
    if caller.key_id is None:
        return
    now = timezone.now()
    rows = HookCount.objects.filter(
        project=project, key_id=caller.key_id, harness=harness, event=kind
    )
    if rows.update(events=F("events") + 1, last_at=now):
        return
    HookCount.objects.create(
        project=project,
        key_id=caller.key_id,
        agent_id=caller.agent_id_for(""),
        harness=harness,
        event=kind,
        last_at=now,
    )


def find_status(project: Project, caller: Caller) -> list[HookStatus]:
    """Return a row for each key and harness, the last one first."""
    caller.require(Role.VIEWER, project.pk)
    by_key: dict[tuple[str, str], list[HookCount]] = {}
    rows = HookCount.objects.visible_to(caller).filter(project=project)
    for row in rows.order_by("-last_at", "event"):
        by_key.setdefault((str(row.key_id), row.harness), []).append(row)
    return [
        HookStatus(
            harness=harness,
            agent_id=rows[0].agent_id,
            key_id=key_id,
            last_event=rows[0].event,
            last_at=rows[0].last_at,
            events={row.event: row.events for row in rows},
        )
        for (key_id, harness), rows in by_key.items()
    ]
