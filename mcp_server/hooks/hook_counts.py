"""Count the events of each key and harness."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from django.contrib.postgres.aggregates import ArrayAgg
from django.db.models import F, Max
from django.utils import timezone

from common.caller import Caller, Role
from common.db import write
from mcp_server.hooks.hook_event import EventKind
from mcp_server.models import HookCount
from projects.models import Project

MAX_STATUS = 200  # keys and harnesses that are listed


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


def find_status(
    project: Project, caller: Caller, *, most: int = MAX_STATUS
) -> list[HookStatus]:
    """Return a row for each key and harness, the last ones first."""
    caller.require(Role.VIEWER, project.pk)
    rows = HookCount.objects.visible_to(caller).filter(project=project)
    groups = (
        rows.order_by()
        .values("key_id", "harness")
        .annotate(
            agents=_newest_first("agent_id"),
            kinds=_newest_first("event"),
            counts=_newest_first("events"),
            newest=Max("last_at"),
        )
    )
    return [
        HookStatus(
            harness=group["harness"],
            agent_id=group["agents"][0],
            key_id=str(group["key_id"]),
            last_event=group["kinds"][0],
            last_at=group["newest"],
            events=dict(zip(group["kinds"], group["counts"], strict=True)),
        )
        for group in groups.order_by("-newest", "key_id", "harness")[:most]
    ]


def _newest_first(name: str) -> ArrayAgg:
    """Collect a column of the events of one key and harness."""
    return ArrayAgg(name, order_by=["-last_at", "event"])
